/** Whether a client takes a compressed body, by its accept-encoding header. Nothing is compressed here. */

/** As RFC 9110, 12.5.3: by its name in any case, or by `*` where it is not named, and not with a weight of 0. */
export function takesGzip(acceptEncoding: string): boolean {
  const accepted = new Map(
    acceptEncoding
      .toLowerCase()
      .split(',')
      .map((coding) => {
        const [name = '', ...parameters] = coding.split(';').map((part) => part.trim())
        return [name, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))] as const
      }),
  )
  return accepted.get('gzip') ?? accepted.get('*') ?? false
}
