/** Follows changes with Node's `fetch`, implemented by undici, and prints the data of each event on a line. */
import { follow } from './follow.mjs'

const { URL: url, TOKEN: token, BODY: body } = process.env
await follow({ url, token, body, print: console.log, report: console.error })
