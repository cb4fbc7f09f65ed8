/** The dialog that uploads a file of lines, as "Download all" and `topicd export` write it, with every digit. */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { jsonText, type Operation } from '../../../client/index.js'
import { itemOf } from '../../../client/item.js'
import type { Context } from '../context.js'
import { topicsText, visible } from '../value-text.js'
import { FormDialog } from './form-dialog.js'

/** Refused topics that are named. */
const namedMax = 20

/** The maximum of the service's setting `--body-bytes-max`, which bounds its lines. */
const lineCharactersMax = 64 * 1024 * 1024

/** The part of a file that has been read. */
interface Read {
  readonly paths: string[]
  /** True if it is an export without its last line. */
  isCut: boolean
}

export class UploadDialog extends FormDialog {
  readonly #progress = signal('')
  readonly #refused = signal<readonly string[]>([])
  #uploading = new AbortController()

  constructor(context: Context) {
    super(context, 'Upload topics', 'Upload')
  }

  override get isWritten(): boolean {
    return this.task.isBusy.peek()
  }

  /** What is durable by then stays. */
  leave(): void {
    this.#uploading.abort()
  }

  protected fields(): TemplateResult {
    return html`
      <p>A file that “Download all” or <code>topicd export</code> wrote: a topic a line.</p>
      <label for="upload-file">File</label>
      <input id="upload-file" name="file" type="file" accept=".ndjson,.jsonl,application/x-ndjson" required>
      <label class="choice"><input type="checkbox" name="keeps"> <span>Keep topics that exist as they are</span></label>
      <p role="status">${this.#progress.value}</p>
      ${this.#refused.value.length === 0 ? nothing : html`<ul>${this.#refused.value.map((text) => html`<li>${text}</li>`)}</ul>`}
    `
  }

  protected override buttons(action: string): TemplateResult {
    const isBusy = this.task.isBusy.value
    const cancel = () => (isBusy ? this.leave() : this.context.dialogs.end(this))
    return html`
      <button class="primary" aria-disabled=${isBusy}>${action}</button>
      <button type="button" @click=${cancel}>${isBusy ? 'Stop' : 'Close'}</button>`
  }

  protected async submit(form: FormData): Promise<void> {
    const { signal } = (this.#uploading = new AbortController())
    const read: Read = { paths: [], isCut: false }
    this.#refused.value = []
    this.#progress.value = ''
    const operations = operationsIn(form.get('file') as File, form.get('keeps') !== null, read)
    const uploaded = this.context.session.client.upload(operations, {
      signal,
      onProgress: ({ durable }) => (this.#progress.value = `${topicsText(durable)} stored…`),
      onRefused: ({ index, message }) => {
        const text = `${visible(read.paths[index] ?? '')}: ${message}`
        if (this.#refused.value.length < namedMax) this.#refused.value = [...this.#refused.value, text]
      },
    })
    const { durable, refused } = await uploaded.catch((error: unknown) => {
      throw signal.aborted ? new RangeError('Stopped; what was stored stays.') : error
    })
    const refusals = refused === 0 ? '' : `, ${topicsText(refused)} refused`
    const warning = read.isCut ? ' The file may be incomplete: an export ends with a line {"end":…}.' : ''
    this.#progress.value = `${topicsText(durable)} stored${refusals}.${warning}`
  }
}

/** @throws RangeError for a line that is no topic */
async function* operationsIn(file: File, keeps: boolean, read: Read): AsyncGenerator<Operation> {
  let number = 0
  for await (const line of linesOf(file)) {
    number++
    if (line.startsWith('{"end":')) read.isCut = false
    // The last line of an export, and those of API keys, are no topics.
    if (line.trim() === '' || /^\{"(end|key)":/.test(line)) continue
    const { path, type, properties, text } = itemIn(line, number)
    // An export writes them even if there are none.
    read.isCut = line.startsWith('{"path":') && properties !== undefined
    read.paths.push(path)
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

/** @throws RangeError for a line that no service takes */
async function* linesOf(file: File): AsyncGenerator<string> {
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader()
  let line = ''
  for (;;) {
    const { done, value = '' } = await reader.read()
    const [end = '', ...lines] = value.split('\n')
    line += end
    if (line.length > lineCharactersMax) throw new RangeError('This is not an export: a line has more than 64 MiB.')
    for (const next of lines) {
      yield line
      line = next
    }
    if (done) break
  }
  if (line !== '') yield line
}
