/** What every part of the page gets: the session, the names and values on the screen, and what the page does for a part. */
import type { Signal } from '@preact/signals-core'
import type { TemplateResult } from 'lit-html'
import type { Dialogs } from './dialogs/dialogs.js'
import type { Ending } from './failures.js'
import type { LiveItems } from './live/live-items.js'
import type { Names } from './live/names.js'
import type { Session } from './session.js'
import type { Edit } from './topic/edit.js'

export interface Context extends Ending {
  readonly session: Session
  readonly names: Names
  readonly items: LiveItems
  readonly dialogs: Dialogs
  /** Edits by the path of their topic. They outlast the session. */
  readonly edits: Signal<ReadonlyMap<string, Edit>>
  /** @param address as address.ts writes it */
  readonly show: (address: string) => void
  /** Says that something was done, where nothing else shows it. */
  readonly note: (text: string) => void
}

/** What the page shows next to the tree. Its texts are drawn again as they change. */
export interface Panel {
  /** Of the tab. */
  readonly title: string
  readonly view: () => TemplateResult
  /** The paths of the topics on the screen, whose values are followed; undefined until they are known. Reads signals. */
  readonly shownPaths?: () => readonly string[] | undefined
  /** Nothing continues unseen. */
  readonly leave?: () => void
}
