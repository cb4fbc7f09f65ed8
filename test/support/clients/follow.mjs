/**
 * Follows changes with `fetch`, in Node.js or in a browser page, and prints the data of each event. After the end of a stream, it waits as
 * long as the service requested, and resumes with `since` in the body.
 */

/** Never resolves. Passes the reason for the end of a stream to `report`. */
export async function follow({ url, token, body, print, report }) {
  const headers = { authorization: `Apikey ${token}`, 'content-type': 'application/json', accept: 'text/event-stream' }
  let retryMs = 1000
  let since
  for (;;) {
    try {
      const request = { method: 'POST', headers, body: JSON.stringify({ ...JSON.parse(body), since }) }
      const response = await fetch(`${url}/topics/changes`, request)
      if (!response.ok) throw new Error(`status ${response.status}`)
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        text += piece.value
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const fields = Object.fromEntries(
            text
              .slice(0, end)
              .split('\n')
              .map((line) => /^([^:]*):? ?(.*)$/s.exec(line).slice(1)),
          )
          text = text.slice(end + 2)
          if (fields.retry !== undefined) retryMs = Number(fields.retry)
          if (fields.data === undefined || fields.event !== undefined) continue
          print(fields.data)
          since = fields.id
        }
      }
    } catch (error) {
      report(String(error))
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}
