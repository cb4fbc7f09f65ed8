/**
 * The requests that a service accepts and the responses that it returns, according to its own OpenAPI description: the forms of bodies, and
 * the statuses, codes and forms of each operation's responses. This file adds the responses to hostile requests that the description omits.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { RawAnswer } from '../service/raw.js'
import type { HostileRequest } from './hostile-requests.js'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }

interface Operation {
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly examples?: Examples } } }
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>
}
type Examples = Readonly<Record<string, { readonly value: JsonObject }>>

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly responses: Readonly<Record<string, { readonly description: string }>> }
}

/** Responses with one status: their form, and the codes of rejections. */
interface Described {
  readonly matches: ValidateFunction
  readonly codes: readonly string[]
}

/** The possible statuses of intact requests. */
const statusesOf: Readonly<Record<HostileRequest['kind'], readonly number[]>> = {
  valid: [200, 400, 409],
  changed: [200, 400, 403, 409],
  unauthorized: [401],
  elsewhere: [401, 404, 405],
  page: [200],
}

/** Codes that depend on the stored topics; only they may reject a valid request. */
const codesByStored = ['no_such_topic', 'incompatible_type', 'incompatible_properties', 'not_a_number']
const codesOfValid: readonly unknown[] = [undefined, ...codesByStored, 'unsatisfied_constraint']

/** Responses outside the described operations. */
const otherAnswers: Readonly<Record<number, (json: JsonObject) => boolean>> = {
  302: ({ routes, pages }) => Array.isArray(routes) && Array.isArray(pages),
  404: ({ code, message }) => code === 'unknown_route' && typeof message === 'string',
  405: ({ code, message }) => code === 'method_not_allowed' && typeof message === 'string',
}

/** Responses of the HTTP library itself, which are not JSON. */
const libraryStatuses = [400, 431, 505]

export class Description {
  /** The examples of requests by route, such as `/topics/set`. */
  readonly examples: ReadonlyMap<string, readonly JsonObject[]>
  readonly #bodies = new Map<string, ValidateFunction>()
  /** By route and status. */
  readonly #answers = new Map<string, Map<number, Described>>()

  /** The description of the service at this address. */
  static async of(url: string): Promise<Description> {
    return new Description((await (await fetch(`${url}/openapi.json`)).json()) as Document)
  }

  constructor(document: Document) {
    const formats = { 'date-time': (text: string) => new Date(text).toISOString() === text }
    const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, formats })
    // Keywords of OpenAPI that JSON Schema does not have are not errors.
    ajv.addVocabulary(['openapi', 'info', 'paths', 'servers', 'security', 'tags', 'components', 'discriminator'])
    ajv.addSchema(document, 'api')
    const schemaAt = (...place: readonly string[]): ValidateFunction => {
      const names = [...place, 'content', 'application/json', 'schema'].map((name) => name.replaceAll('/', '~1'))
      return ajv.compile({ $ref: `api#/${names.join('/')}` })
    }
    const examples = new Map<string, readonly JsonObject[]>()
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { requestBody, responses }] of Object.entries(methods)) {
        const shown = Object.values(requestBody?.content['application/json'].examples ?? {})
        if (shown.length > 0)
          examples.set(
            path,
            shown.map(({ value }) => value),
          )
        if (requestBody !== undefined) this.#bodies.set(path, schemaAt('paths', path, method, 'requestBody'))
        const answers = new Map<number, Described>()
        for (const [status, { $ref }] of Object.entries(responses)) {
          const place = $ref?.slice(2).split('/') ?? ['paths', path, method, 'responses', status]
          const { description = '' } = document.components.responses[place.at(-1) ?? ''] ?? {}
          const codes = [...description.matchAll(/^- `(\w+)`/gm)].map(([, code = '']) => code)
          // In this test the service must have no internal errors.
          if (Number(status) < 500) answers.set(Number(status), { matches: schemaAt(...place), codes })
        }
        this.#answers.set(path, answers)
      }
    }
    this.examples = examples
  }

  /** Why a body is not a request of the route, or not a response with this status; undefined if it is. */
  mismatch(route: string, status: number | 'request', json: unknown): string | undefined {
    const described = status === 'request' ? this.#bodies.get(route) : this.#answers.get(route)?.get(status)?.matches
    if (described === undefined) return `${route} ${status} is not described`
    return described(json) ? undefined : JSON.stringify(described.errors)
  }

  /** @returns the undocumented property of a response to the request; undefined if everything is documented */
  fault(request: HostileRequest, { status, head, body }: RawAnswer): string | undefined {
    const { kind, route, isMutated, sent } = request
    const text = Buffer.from(body, 'latin1').toString()
    const answer = `${status} ${text}`
    if (!/\r\ncontent-type: application\/json(\r\n|$)/.test(head)) {
      const isAllowed = (isMutated || kind === 'elsewhere') && libraryStatuses.includes(status)
      return isAllowed ? undefined : `not JSON: ${answer}`
    }
    const json = parsed(text) as JsonObject | undefined
    if (json === undefined) return `a body that is not JSON: ${head} ${text}`
    const routes = isMutated || route === undefined ? [...this.#answers.keys()] : [route]
    const isOther = (isMutated || kind === 'elsewhere') && otherAnswers[status]?.(json) === true
    if (!isOther && !routes.some((each) => this.#isDescribed(each, status, json))) return `not described: ${answer}`
    if (isMutated) return undefined
    if (status === 200 && sent !== 'whole' && sent !== 'cut') return `a 200 to a part of a request: ${answer}`
    if (!statusesOf[kind].includes(status)) return `another status: ${answer}`
    if (kind === 'valid' && !codesOfValid.includes(json.code)) return `a rejection of a valid request: ${answer}`
    // A fetch by path also accepts the members of a page; a batch may reject its operations individually.
    if (kind !== 'changed' || status !== 200 || route === '/topics/fetch' || json.results !== undefined)
      return undefined
    const isAllowed = this.#bodies.get(route ?? '')?.(parsed(request.body))
    return isAllowed === false ? `an invalid body is accepted: ${answer}` : undefined
  }

  #isDescribed(route: string, status: number, json: JsonObject): boolean {
    const described = this.#answers.get(route)?.get(status)
    if (described?.matches(json) !== true) return false
    if (status !== 200) return described.codes.includes(json.code as string)
    // A batch may reject its operations individually.
    const codes = [...(this.#answers.get(route)?.values() ?? [])].flatMap(({ codes }) => codes)
    const results = Array.isArray(json.results) ? (json.results as readonly JsonObject[]) : []
    return results.every(({ code }) => code === undefined || codes.includes(code as string))
  }
}

/** Undefined if the text is not JSON. The check does not depend on numbers beyond JavaScript's range, so replace them. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text, (_, json) => (Math.abs(json) === Infinity ? 0.5 : json))
  } catch {
    return undefined
  }
}
