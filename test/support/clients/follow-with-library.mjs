/**
 * Follows changes with @microsoft/fetch-event-source, and prints the data of each event on a line. The library is made for
 * browsers; it is given the few things of theirs that it needs.
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
    // For the first lines of a stream, which have no data, there is a message, too.
    if (event === '' && data !== '') console.log(data)
  },
  onclose() {
    // Otherwise the library takes the end of a stream for the end of everything.
    throw new Error('the stream has ended')
  },
  onerror(error) {
    console.error(String(error))
  },
})
