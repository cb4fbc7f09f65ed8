/** The recipes of docs/recipes.md as tests run them: verbatim, with the address of a service. */
import { strict as assert } from 'node:assert'
import { blocksOf, readDocument, sectionOf } from './documents.js'
import type { FunctionSource } from './service/function-node.js'

const documentedUrl = 'http://127.0.0.1:8080'

type Recipe = 'telegraf' | 'syslog-ng' | 'node-red' | 'a-shell-loop' | 'python'

/** The blocks of one kind in a recipe; `url` is the service's address. */
export function recipeBlocks(recipe: Recipe, kind: string, url = documentedUrl): readonly string[] {
  const { hostname, port } = new URL(url)
  const blocks = blocksOf(sectionOf(readDocument('docs/recipes.md'), recipe), kind)
  assert(blocks.length > 0, `docs/recipes.md has a block of ${kind} for ${recipe}`)
  return blocks.map(({ text }) =>
    text.replaceAll(documentedUrl, url).replace('host=127.0.0.1 port=8080', `host=${hostname} port=${port}`),
  )
}

/** A rough reading of Telegraf's output plugin: settings with a string value, the template, and the headers. */
export interface TelegrafOutput {
  readonly url: string
  readonly template: string
  readonly headers: Readonly<Record<string, string>>
}

export function telegrafOutput(token: string, url: string): TelegrafOutput {
  const [text = ''] = recipeBlocks('telegraf', 'toml', url)
  // Bash sets the variable `_`.
  const env: NodeJS.ProcessEnv = { ...process.env, TOPICD_KEY: token, _: '/usr/bin/telegraf' }
  // Telegraf replaces each name of a defined variable, with or without braces, and leaves others unchanged.
  const replaced = text.replace(/\$(?:\{(\w+)\}|([a-z_]\w*))/gi, (whole, a, b) => env[a ?? b] ?? whole)
  const [options = '', headers = ''] = replaced.split('[outputs.http.headers]')
  const strings = (part: string): Record<string, string> =>
    Object.fromEntries([...part.matchAll(/^ *([\w-]+) = "(.*)"$/gm)].map(([, name = '', value = '']) => [name, value]))
  const template = /^ *batch_template = '''\n(.*?)'''$/ms.exec(options)?.[1]
  const address = strings(options).url
  assert(template !== undefined && address !== undefined, 'the output has a template and an address')
  return { url: address, template, headers: strings(headers) }
}

/** A node that sends requests, in a Node-RED flow. */
interface RequestNode {
  readonly id: string
  readonly method: string
  readonly url: string
  readonly headers: readonly { readonly keyValue: string; readonly valueValue: string }[]
  readonly wires: readonly (readonly string[])[]
}

export interface Flow {
  readonly text: string
  readonly inject: string
  readonly queue: FunctionSource & { readonly id: string; readonly wires: readonly (readonly string[])[] }
  readonly request: RequestNode
}

/** The flow to import. */
export function nodeRedFlow(url?: string): Flow {
  const [text = ''] = recipeBlocks('node-red', 'json', url)
  const nodes = JSON.parse(text) as { readonly type: string; readonly id: string }[]
  const ofType = <Node>(type: string): Node => {
    const found = nodes.filter((node) => node.type === type)
    assert.equal(found.length, 1, `the flow has one node of type ${type}`)
    return found[0] as Node
  }
  return {
    text,
    inject: ofType<{ readonly id: string }>('inject').id,
    queue: ofType('function'),
    request: ofType('http request'),
  }
}
