/** The answers to the questions of workers, which may be of a later build and ask more than this one knows. */
import type { Overview } from '../../api/console/primary.js'
import { NothingDone } from '../../keys/requests.js'
import type { Answers, Question } from '../messages.js'
import type { auditedKeys } from './audited-keys.js'

export function answersTo(
  requestKeys: ReturnType<typeof auditedKeys>,
  readOverview: () => Promise<Overview>,
): (asked: Question) => Promise<Answers[keyof Answers]> {
  return async (asked) => {
    switch (asked.about) {
      case 'keys':
        return requestKeys(asked.request, asked.by, asked.peer)
      case 'overview':
        return readOverview()
      default:
        asked satisfies never
        throw new NothingDone('the running service is of an earlier version until it is restarted')
    }
  }
}
