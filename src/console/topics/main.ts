/** The page of the topics: asks for a key, and then shows what it opens. */
import { html, nothing, render, type TemplateResult } from '../vendor/lit-html.js'
import { describeFailure } from './context.js'
import { beginSession, endSession, type Session, storedKey } from './session.js'
import { visible } from './value-text.js'
import { Workspace } from './workspace.js'

class Page {
  #session: Session | undefined
  #workspace: Workspace | undefined
  #problem = ''
  #isBusy = false
  #isScheduled = false

  /** Draws the page again, once for all changes of this turn. */
  readonly draw = (): void => {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      render(this.#view(), root)
      this.#showDialog()
    })
  }

  /** Continues an earlier visit of this tab, or asks for a key. */
  async start(): Promise<void> {
    const key = storedKey()
    if (key === undefined) this.draw()
    else await this.#signIn(key)
  }

  #view(): TemplateResult {
    const session = this.#session
    // One dialog may be above another, which the browser does not know.
    const onCancel = (event: Event) => {
      event.preventDefault()
      this.#workspace?.closeTopDialog()
    }
    return html`
      <header class="top">
        <h1>topicd <span class="quiet">topics</span></h1>
        ${
          session === undefined
            ? nothing
            : html`
          <span class="quiet">${describeKey(session)}</span>
          <button @click=${() => this.#signOut('')}>Sign out</button>`
        }
      </header>
      ${this.#workspace?.view() ?? this.#signInView()}
      <dialog aria-labelledby="dialog-title" @cancel=${onCancel}>${this.#workspace?.dialog ?? nothing}</dialog>
    `
  }

  #signInView(): TemplateResult {
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault()
      void this.#signIn(String(new FormData(event.target as HTMLFormElement).get('key')).trim())
    }
    return html`
      <main class="sign-in">
        <form class="panel" @submit=${onSubmit}>
          <label for="key">API key</label>
          <input id="key" name="key" type="password" autocomplete="off" spellcheck="false" required autofocus>
          <button class="primary" ?disabled=${this.#isBusy}>Look at the topics</button>
          ${this.#problem === '' ? nothing : html`<p class="bad" role="alert">${this.#problem}</p>`}
          <p class="quiet">It is kept in this tab until you close it or sign out. <code>topicd keys add NAME</code> makes one.</p>
        </form>
      </main>
    `
  }

  async #signIn(key: string): Promise<void> {
    this.#isBusy = true
    this.#problem = ''
    this.draw()
    try {
      this.#session = await beginSession(key)
      this.#workspace = new Workspace(this.#session, this.draw, (reason) => this.#signOut(reason))
      this.#workspace.start()
    } catch (error) {
      this.#problem = describeFailure(error)
    }
    this.#isBusy = false
    this.draw()
  }

  /** @param reason why, unless someone wanted to */
  #signOut(reason: string): void {
    endSession()
    this.#workspace?.stop()
    this.#workspace = undefined
    this.#session = undefined
    this.#problem = reason
    this.draw()
  }

  /** The browser's own dialog keeps the keyboard inside, and closes by Escape. */
  #showDialog(): void {
    const dialog = root.querySelector('dialog')
    const isWanted = this.#workspace?.dialog !== undefined
    if (dialog === null) return
    if (isWanted && !dialog.open) dialog.showModal()
    else if (!isWanted && dialog.open) dialog.close()
    // What had the focus may have gone with the step before.
    else if (isWanted && document.activeElement === document.body)
      dialog.querySelector<HTMLElement>('button, input')?.focus()
  }
}

function describeKey({ key: { name, allow, under } }: Session): string {
  const where = under.length === 0 ? '' : ` below ${under.map(visible).join(', ')}`
  return `Key ${name}: ${allow.join(', ')}${where}`
}

const root = document.body
void new Page().start()
