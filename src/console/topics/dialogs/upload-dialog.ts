/** The dialog that uploads a file of lines, as "Download all" and `topicd export` write it, with every digit. */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { jsonText, type Operation } from '../../../client/index.js'
import { itemOf } from '../../../client/item.js'
import type { Context } from '../context.js'
import { describeFailure } from '../failures.js'
import { topicsText, visible } from '../value-text.js'
import type { Dialog } from './dialogs.js'

/** Refused topics that are named. */
const namedMax = 20

export class UploadDialog implements Dialog {
  readonly staysOpen = true
  readonly #progress = signal('')
  readonly #problem = signal('')
  readonly #refused = signal<readonly string[]>([])
  readonly #uploading = signal<AbortController | undefined>(undefined)

  constructor(
    private readonly context: Context,
    private readonly close: () => boolean,
  ) {}

  get isWritten(): boolean {
    return this.#uploading.peek() !== undefined
  }

  /** What is durable by then stays. */
  abandon(): void {
    this.#uploading.value?.abort()
  }

  view(): TemplateResult {
    const isBusy = this.#uploading.value !== undefined
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault()
      const form = new FormData(event.target as HTMLFormElement)
      if (!isBusy) void this.#upload(form.get('file') as File, form.get('keeps') !== null)
    }
    const cancel = () => (isBusy ? this.abandon() : this.close())
    return html`
      <h2 id="dialog-title">Upload topics</h2>
      <form @submit=${onSubmit}>
        <p>A file that “Download all” or <code>topicd export</code> wrote: a topic a line.</p>
        <label for="upload-file">File</label>
        <input id="upload-file" name="file" type="file" accept=".ndjson,.jsonl,application/x-ndjson" required>
        <label class="choice"><input type="checkbox" name="keeps"> <span>Keep topics that exist as they are</span></label>
        <p role="status">${this.#progress.value}</p>
        ${this.#problem.value === '' ? nothing : html`<p class="bad" role="alert">${this.#problem.value}</p>`}
        ${this.#refused.value.length === 0 ? nothing : html`<ul>${this.#refused.value.map((text) => html`<li>${text}</li>`)}</ul>`}
        <p class="row">
          <button class="primary" aria-disabled=${isBusy}>Upload</button>
          <button type="button" @click=${cancel}>${isBusy ? 'Stop' : 'Close'}</button>
        </p>
      </form>
    `
  }

  async #upload(file: File, keeps: boolean): Promise<void> {
    const uploading = new AbortController()
    const paths: string[] = []
    this.#uploading.value = uploading
    this.#problem.value = ''
    this.#refused.value = []
    try {
      const operations = operationsIn(file, keeps, (path) => paths.push(path))
      const { durable, refused } = await this.context.session.client.upload(operations, {
        signal: uploading.signal,
        onProgress: (uploaded) => (this.#progress.value = `${topicsText(uploaded.durable)} stored…`),
        onRefused: ({ index, message }) => {
          if (this.#refused.value.length < namedMax)
            this.#refused.value = [...this.#refused.value, `${visible(paths[index] ?? '')}: ${message}`]
        },
      })
      this.#progress.value = `${topicsText(durable)} stored${refused === 0 ? '' : `, ${topicsText(refused)} refused`}.`
    } catch (error) {
      this.#problem.value = uploading.signal.aborted
        ? 'Stopped; what was stored stays.'
        : describeFailure(error, this.context)
    }
    this.#uploading.value = undefined
  }
}

/** @param onPath is told the path of each operation @throws RangeError for a line that is no topic */
async function* operationsIn(file: File, keeps: boolean, onPath: (path: string) => void): AsyncGenerator<Operation> {
  let number = 0
  for await (const line of linesOf(file)) {
    number++
    // The last line of an export, and those of API keys, are no topics.
    if (line.trim() === '' || /^\{"(end|key)":/.test(line)) continue
    const { path, type, properties, text } = itemIn(line, number)
    onPath(path)
    const topic = { path, type, properties, ...(keeps ? { constraint: { no_topic: true } as const } : {}) }
    yield text === undefined ? { op: 'add', ...topic } : { op: 'addAndSet', ...topic, value: jsonText(text) }
  }
}

function itemIn(line: string, number: number) {
  try {
    return itemOf(line)
  } catch {
    throw new RangeError(`Line ${number} is not a topic as an export has it; those before it are stored.`)
  }
}

async function* linesOf(file: File): AsyncGenerator<string> {
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value = '' } = await reader.read()
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    if (done) break
  }
  if (rest !== '') yield rest
}
