/** The dialog that uploads a file, keeping every digit, in the format of "Download all" and `topicd export`. */
import { signal } from '@preact/signals-core'
import { html, nothing, type TemplateResult } from 'lit-html'
import { jsonText, type Operation } from '../../../client/index.js'
import { itemOf } from '../../../client/item.js'
import type { Context } from '../context.js'
import { topicsText, visible } from '../value-text.js'
import { FormDialog } from './form-dialog.js'

/** Maximum number of rejected topics that are listed. */
const namedMax = 20

/** The highest value of the service's setting `--body-bytes-max`, which limits the length of a line. */
const lineCharactersMax = 64 * 1024 * 1024

/** The part of a file that has been read. */
interface Read {
  readonly paths: string[]
  /** True if the file is an export without its last line. */
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

  /** Stops the upload; topics that are already stored are kept. */
  leave(): void {
    this.#uploading.abort()
  }

  protected fields(): TemplateResult {
    return html`
      <p>A file written by “Download all” or <code>topicd export</code>, with one topic per line.</p>
      <label for="upload-file">File</label>
      <input id="upload-file" name="file" type="file" accept=".ndjson,.jsonl,application/x-ndjson" required>
      <label class="choice"><input type="checkbox" name="keeps"> <span>Keep existing topics unchanged</span></label>
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
      throw signal.aborted ? new RangeError('Stopped. Topics stored so far are kept.') : error
    })
    const refusals = refused === 0 ? '' : `, ${topicsText(refused)} rejected`
    const warning = read.isCut ? ' The file may be incomplete: an export ends with a line {"end":…}.' : ''
    this.#progress.value = `${topicsText(durable)} stored${refusals}.${warning}`
  }
}

/** @throws RangeError for a line that is not a topic */
async function* operationsIn(file: File, keeps: boolean, read: Read): AsyncGenerator<Operation> {
  let number = 0
  for await (const line of linesOf(file)) {
    number++
    if (line.startsWith('{"end":')) read.isCut = false
    // The last line of an export, and lines of API keys, are not topics.
    if (line.trim() === '' || /^\{"(end|key)":/.test(line)) continue
    const { path, type, properties, text } = itemIn(line, number)
    // An export has the member `properties` on every topic's line.
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
    throw new RangeError(`Line ${number} is not a topic in the export format; the lines before it were stored.`)
  }
}

/** @throws RangeError for a line that exceeds the highest possible limit */
async function* linesOf(file: File): AsyncGenerator<string> {
  const reader = file
    .stream()
    .pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))
    .getReader()
  let line = ''
  for (;;) {
    const { done, value = '' } = await reader.read().catch((error: unknown) => {
      throw error instanceof TypeError ? new RangeError('The file is not UTF-8; the lines before were stored.') : error
    })
    const [end = '', ...lines] = value.split('\n')
    line += end
    if (line.length > lineCharactersMax) throw new RangeError('This is not an export: a line is longer than 64 MiB.')
    for (const next of lines) {
      yield line
      line = next
    }
    if (done) break
  }
  if (line !== '') yield line
}
