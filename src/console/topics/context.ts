/** The context of every part of the page: the session, the names and values on the screen, and the page's functions. */
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
  /** Edits by the path of their topic. Unsaved ones survive the end of the session unless the user signs out. */
  readonly edits: Signal<ReadonlyMap<string, Edit>>
  /** @param address as address.ts writes it */
  readonly show: (address: string) => void
  /** Reports a result that nothing else on the page shows. */
  readonly note: (text: string) => void
}

/** The main part of the page, next to the tree. It is redrawn after each change to a signal that `view` reads. */
export interface Panel {
  /** The title of the tab. */
  readonly title: string
  readonly view: () => TemplateResult
  /** The paths of the topics on the screen, whose values are followed; undefined until they are known. Reads signals. */
  readonly shownPaths?: () => readonly string[] | undefined
  /** Stops the panel's work when another panel replaces it. */
  readonly leave?: () => void
}
