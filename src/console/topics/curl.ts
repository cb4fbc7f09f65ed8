/** The request behind a view, as a command for a shell. The key is not in it, because commands end up in logs. */

/** @param base without a slash at the end @param body JSON */
export function curlCommand(base: string, route: string, body: string): string {
  return [
    `curl -sS ${quoted(`${base}/topics/${route}`)}`,
    '-H "authorization: Apikey $KEY"',
    `-H 'content-type: application/json'`,
    `--data-binary ${quoted(body)}`,
  ].join(' \\\n  ')
}

/** As one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
