/** The Topics page: asks for an API key, then shows the workspace. */
import { effect, signal, untracked } from '@preact/signals-core'
import { html, nothing, render, type TemplateResult } from 'lit-html'
import { addressOfKeys } from './address.js'
import type { Context } from './context.js'
import { focusLater, keepDrawn } from './drawing.js'
import { alertView } from './failures.js'
import {
  beginSession,
  endSession,
  keyIn,
  may,
  type Session,
  servicePageOf,
  shareWithOpenedTabs,
  storedKey,
  storeKey,
} from './session.js'
import { Task } from './task.js'
import { visible } from './value-text.js'
import { Workspace } from './workspace.js'

/** Interval between attempts with the tab's key, in ms, while the service does not respond. */
const retryMs = 3000

class Page {
  /** Undefined until the service has accepted a key. */
  readonly #workspace = signal<Workspace | undefined>(undefined)
  readonly #signingIn = new Task()
  /** The tab's stored key, until the service has accepted or rejected it. */
  readonly #earlierKey = signal(storedKey())
  /** Unsaved edits, which are kept if the service no longer knows the key. */
  readonly #edits: Context['edits'] = signal(new Map())

  start(): void {
    keepDrawn(() => {
      render(this.#view(), root)
      document.title = `${this.#workspace.value?.title ?? 'Topics'} – topicd ${location.host}`
      this.#showDialog()
    })
    void this.#continue()
  }

  /** Retries until the service accepts or rejects the key. */
  async #continue(): Promise<void> {
    const key = this.#earlierKey.value
    if (key === undefined || this.#signingIn.isBusy.value) return
    await this.#signIn(key)
    if (this.#earlierKey.value !== undefined) setTimeout(() => void this.#continue(), retryMs)
  }

  #view(): TemplateResult {
    const workspace = this.#workspace.value
    // The dialog may ask for confirmation first.
    const onCancel = (event: Event) => {
      event.preventDefault()
      workspace?.dialogs.close()
    }
    return html`
      <header class="top">
        <h1>topicd <span class="quiet">topics</span></h1>
        ${this.#headerView(workspace?.session.key)}
      </header>
      ${workspace?.view() ?? this.#signInView()}
      <dialog aria-labelledby="dialog-title" @cancel=${onCancel} @close=${() => this.#showDialog()}>${workspace?.dialogs.shown.value?.view()}</dialog>
    `
  }

  #headerView(key: Session['key'] | undefined): TemplateResult {
    const servicePage = key && servicePageOf(key)
    return html`
      <span class="row links">
        ${servicePage === undefined ? nothing : html`<a href=${servicePage}>Service</a>`}
        ${key !== undefined && may(key, 'admin') ? html`<a href=${addressOfKeys}>API keys</a>` : nothing}
        <a href="openapi.json">API description</a>
      </span>
      ${key === undefined ? nothing : html`<span class="quiet">${describeKey(key)}</span> <button class="quiet-button" @click=${() => this.#leave()}>Sign out</button>`}`
  }

  #signInView(): TemplateResult {
    const view = this.#earlierKey.value === undefined ? this.#keyForm() : this.#continuingView()
    return html`<main class="sign-in">${view}</main>`
  }

  #keyForm(): TemplateResult {
    const isBusy = this.#signingIn.isBusy.value
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault()
      void this.#signIn(keyIn(String(new FormData(event.target as HTMLFormElement).get('key'))))
    }
    return html`
      <form class="panel" @submit=${onSubmit}>
        <label for="key">API key</label>
        <input id="key" name="key" type="password" autocomplete="off" spellcheck="false" required autofocus>
        <button class="primary" aria-disabled=${isBusy}>${isBusy ? 'Signing in…' : 'Sign in'}</button>
        ${alertView(this.#signingIn.problem.value)}
        ${this.#edits.value.size === 0 ? nothing : html`<p>Your unsaved edits are kept. Sign in to continue.</p>`}
        <p class="quiet">The key is kept in this tab until you close it or sign out. <code>topicd keys add NAME</code> creates one.</p>
      </form>
    `
  }

  #continuingView(): TemplateResult {
    const problem = this.#signingIn.problem.value
    return html`
      <div class="panel">
        <p role="status">Signing in with this tab's API key…</p>
        ${problem === '' ? nothing : html`<p class="bad">${problem} Retrying…</p>`}
        <button @click=${() => this.#signOut('')}>Use another key</button>
      </div>
    `
  }

  #signIn(key: string): Promise<void> {
    const isContinuing = key === this.#earlierKey.value
    return this.#signingIn.run({ signOut: (reason) => this.#signOut(reason) }, async () => {
      const session = await beginSession(key)
      // The user is no longer waiting for this key and is entering another one.
      if (isContinuing && this.#earlierKey.value === undefined) return
      storeKey(key)
      this.#earlierKey.value = undefined
      this.#enter(session)
    })
  }

  #enter(session: Session): void {
    // Set once the service no longer knows the key. A late response to a request with an earlier key is ignored.
    const unknown = signal<string | undefined>(undefined)
    const workspace = new Workspace(session, this.#edits, (reason) => (unknown.value = reason))
    effect(() => {
      // A dialog may have the user's input, or a token that is shown only once.
      const isFree = unknown.value !== undefined && workspace.dialogs.shown.value === undefined
      if (isFree && this.#workspace.peek() === workspace) untracked(() => this.#signOut(unknown.peek() ?? ''))
    })
    this.#workspace.value = workspace
    workspace.start()
    focusLater()('#words, .workspace button, .workspace a')
  }

  /** Signs out at the user's request. */
  #leave(): void {
    const isUnsaved = this.#workspace.value?.hasUnsaved === true
    if (isUnsaved && !confirm('You have unsaved edits. Sign out and discard them?')) return
    this.#signOut('')
    this.#edits.value = new Map()
  }

  /** @param reason empty if the user signed out */
  #signOut(reason: string): void {
    endSession()
    const workspace = this.#workspace.peek()
    this.#workspace.value = undefined
    workspace?.stop()
    this.#earlierKey.value = undefined
    this.#signingIn.problem.value = reason
    focusLater()('#key')
  }

  /** Opens or closes the browser's dialog element, which keeps the focus inside and closes on Escape. */
  #showDialog(): void {
    const dialog = root.querySelector('dialog')
    const isWanted = this.#workspace.value?.dialogs.shown.value !== undefined
    if (dialog === null) return
    if (isWanted && !dialog.open) dialog.showModal()
    else if (!isWanted && dialog.open) {
      dialog.close()
      // The element that opened the dialog may have been removed.
      if (document.activeElement === document.body) document.querySelector<HTMLElement>('h2[tabindex]')?.focus()
    }
    // The focused element may have been removed.
    else if (isWanted && document.activeElement === document.body)
      dialog.querySelector<HTMLElement>('button, input')?.focus()
  }
}

function describeKey({ name, allow, under }: Session['key']): string {
  const named = under.length > 3 ? `${under.length} subtrees` : under.map(visible).join(', ')
  const where = under.length === 0 ? '' : ` below ${named}`
  return `Key ${name}: ${allow.join(', ')}${where}`
}

const root = document.body
shareWithOpenedTabs()
new Page().start()
