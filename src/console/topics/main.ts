/** The page of the topics: asks for a key, and then shows what it opens. */

import { html, nothing, render, type TemplateResult } from 'lit-html'
import { TopicdError } from '../../client/index.js'
import { describeFailure } from './context.js'
import { Drawing } from './drawing.js'
import {
  beginSession,
  endSession,
  keyIn,
  type Session,
  servicePageOf,
  shareWithOpenedTabs,
  storedKey,
} from './session.js'
import type { Edit } from './topic-panel.js'
import { visible } from './value-text.js'
import { Workspace } from './workspace.js'

/** Between attempts with the key of this tab, in ms, while the service gives no answer. */
const retryMs = 3000

class Page {
  #session: Session | undefined
  #workspace: Workspace | undefined
  #problem = ''
  #isBusy = false
  /** Kept until it is known whether it is still good. */
  #earlierKey: string | undefined
  /** Edits that the end of a session has interrupted, by path. */
  #interrupted: ReadonlyMap<string, Edit> = new Map()

  readonly #drawing = new Drawing(() => {
    render(this.#view(), root)
    document.title = `${this.#workspace?.title ?? 'Topics'} – topicd ${location.host}`
    this.#showDialog()
  })

  async start(): Promise<void> {
    this.#earlierKey = storedKey()
    if (this.#earlierKey === undefined) this.#drawing.draw()
    else await this.#continue()
  }

  /** Repeats while the service cannot say whether the key is good. */
  async #continue(): Promise<void> {
    const key = this.#earlierKey
    if (key === undefined || this.#isBusy) return
    await this.#signIn(key)
    if (this.#earlierKey !== undefined) setTimeout(() => void this.#continue(), retryMs)
  }

  #view(): TemplateResult {
    const session = this.#session
    const servicePage = session && servicePageOf(session.key)
    // One dialog may be above another, which the browser does not know.
    const onCancel = (event: Event) => {
      event.preventDefault()
      this.#workspace?.dialogs.closeTop()
    }
    return html`
      <header class="top">
        <h1>topicd <span class="quiet">topics</span></h1>
        ${
          session === undefined
            ? nothing
            : html`
          <span class="quiet">${describeKey(session)}</span>
          <button @click=${() => this.#leave()}>Sign out</button>`
        }
        <span class="row links">
          ${servicePage === undefined ? nothing : html`<a href=${servicePage}>Service</a>`}
          <a href="openapi.json">API description</a>
        </span>
      </header>
      ${this.#workspace?.view() ?? this.#signInView()}
      <dialog aria-labelledby="dialog-title" @cancel=${onCancel}>${this.#workspace?.dialogs.view ?? nothing}</dialog>
    `
  }

  #signInView(): TemplateResult {
    if (this.#earlierKey !== undefined) return this.#continuingView()
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault()
      void this.#signIn(keyIn(String(new FormData(event.target as HTMLFormElement).get('key'))))
    }
    return html`
      <main class="sign-in">
        <form class="panel" @submit=${onSubmit}>
          <label for="key">API key</label>
          <input id="key" name="key" type="password" autocomplete="off" spellcheck="false" required autofocus>
          <button class="primary" aria-disabled=${this.#isBusy}>${this.#isBusy ? 'Signing in…' : 'Sign in'}</button>
          ${this.#problem === '' ? nothing : html`<p class="bad" role="alert">${this.#problem}</p>`}
          ${this.#interrupted.size === 0 ? nothing : html`<p>What you were editing is kept until you sign in.</p>`}
          <p class="quiet">The key is kept in this tab until you close it or sign out. <code>topicd keys add NAME</code> creates one.</p>
        </form>
      </main>
    `
  }

  #continuingView(): TemplateResult {
    const useAnother = () => this.#signOut('')
    return html`
      <main class="sign-in">
        <div class="panel">
          <p role="status">Signing in with this tab's API key…</p>
          ${this.#problem === '' ? nothing : html`<p class="bad">${this.#problem} Trying again.</p>`}
          <button @click=${useAnother}>Use another key</button>
        </div>
      </main>
    `
  }

  async #signIn(key: string): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    this.#problem = ''
    const isContinuing = key === this.#earlierKey
    this.#drawing.draw()
    try {
      const session = await beginSession(key)
      // A user who has given up waiting enters another key.
      if (isContinuing && this.#earlierKey === undefined) return
      this.#earlierKey = undefined
      this.#enter(session)
    } catch (error) {
      this.#problem = describeFailure(error)
      if (error instanceof TopicdError && error.status === 401) this.#signOut(this.#problem)
    } finally {
      this.#isBusy = false
      this.#drawing.draw()
    }
  }

  #enter(session: Session): void {
    this.#session = session
    // A late answer to an earlier key says nothing about this one.
    const onUnknown = (reason: string) => {
      if (this.#session !== session) return
      this.#interrupted = this.#workspace?.unsaved() ?? new Map()
      this.#signOut(reason)
    }
    this.#workspace = new Workspace(session, this.#drawing, onUnknown, this.#interrupted)
    this.#interrupted = new Map()
    this.#workspace.start()
    this.#drawing.focusLater()('#words, .workspace button, .workspace a')
  }

  /** The user wants to sign out. */
  #leave(): void {
    const count = this.#workspace?.unsaved().size ?? 0
    if (count > 0 && !confirm('Your edits are not saved. Sign out and lose them?')) return
    this.#signOut('')
  }

  /** @param reason empty if the user wanted it */
  #signOut(reason: string): void {
    endSession()
    this.#workspace?.stop()
    this.#workspace = undefined
    this.#session = undefined
    this.#earlierKey = undefined
    this.#problem = reason
    this.#drawing.focusLater()('#key')
  }

  /** The browser's own dialog keeps the keyboard inside, and closes by Escape. */
  #showDialog(): void {
    const dialog = root.querySelector('dialog')
    const isWanted = this.#workspace?.dialogs.isAnyOpen === true
    if (dialog === null) return
    if (isWanted && !dialog.open) dialog.showModal()
    else if (!isWanted && dialog.open) dialog.close()
    // The focused element may have been removed.
    else if (isWanted && document.activeElement === document.body)
      dialog.querySelector<HTMLElement>('button, input')?.focus()
  }
}

function describeKey({ key: { name, allow, under } }: Session): string {
  const where = under.length === 0 ? '' : ` below ${under.map(visible).join(', ')}`
  return `Key ${name}: ${allow.join(', ')}${where}`
}

const root = document.body
shareWithOpenedTabs()
void new Page().start()
