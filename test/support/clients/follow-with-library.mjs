/**
 * Follows changes with @microsoft/fetch-event-source, and prints the data of each event on a line. The library is written for browsers;
 * this file provides the few browser objects that it needs.
 */
import { fetchEventSource } from '@microsoft/fetch-event-source'

globalThis.window = globalThis
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} }

const { URL: url, TOKEN: token, BODY: body } = process.env
await fetchEventSource(`${url}/topics/changes`, {
  method: 'POST',
  headers: { authorization: `Apikey ${token}`, 'content-type': 'application/json' },
  body,
  onmessage({ event, data }) {
    // The library also delivers a message for the first lines of a stream, which have no data.
    if (event === '' && data !== '') console.log(data)
  },
  onclose() {
    // Otherwise the library would not reconnect after the end of a stream.
    throw new Error('the stream has ended')
  },
  onerror(error) {
    console.error(String(error))
  },
})
