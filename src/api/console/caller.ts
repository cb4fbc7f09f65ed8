/** The caller of one of the console's pages, which are not routes: its key is found, and its rate counts, here. */
import type { Access } from '../../auth/access.js'
import type { Answer, PageRequest, Refusal } from '../../http/answer.js'

/** The caller; or the answer, if it is unknown or has exceeded its rate. */
export type Identify = (request: PageRequest) => { readonly access: Access } | { readonly refused: Answer }

export function createIdentify(
  authenticate: (authorization: string) => Access | undefined,
  refuseBeyondRate: (caller: Access) => Answer | undefined,
  refusal: (refusal: Refusal, found?: string) => Answer,
): Identify {
  return ({ authorization }) => {
    const access = authenticate(authorization)
    if (access === undefined) return { refused: refusal('unauthorized', authorization) }
    const beyondRate = refuseBeyondRate(access)
    return beyondRate === undefined ? { access } : { refused: beyondRate }
  }
}

/** The headers of what only its caller may see. */
export const noStore = [['cache-control', 'no-store']] as const
