/** The request that shows something, as a command for a shell. The key is not in it, since commands end up in logs. */

/**
 * @param base where the service is, without a slash at the end
 * @param body the request's JSON text
 */
export function curlCommand(base: string, route: string, body: string): string {
  return [
    `curl -sS ${quoted(`${base}/topics/${route}`)}`,
    '-H "authorization: Apikey $KEY"',
    `-H 'content-type: application/json'`,
    `--data-binary ${quoted(body)}`,
  ].join(' \\\n  ')
}

/** A text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
