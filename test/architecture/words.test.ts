/**
 * The words of comments, tests, messages and documents: some are banned, some may be used only a few times, and the length of a document's
 * sentences is limited. CONTRIBUTING.md describes the style.
 */
import t from 'tap'
import { allProse, type Prose } from '../support/prose.js'

type Better = readonly [RegExp, string]

/** Banned words, each with better ones. */
const wrong: readonly Better[] = [
  [/(^|[.:;] )([Tt]hat|[Tt]hose) of\b/, 'the noun itself'],
  [/\bmeanwhile[.;)]?$|\bmeanwhile[.;]/, 'in the meantime, at the start; or nothing'],
  [/\bone after (the other|another)\b/, 'one at a time; in turn'],
  [/\bcarr(y|ies|ied|ying) out\b/, 'run; apply; execute'],
  [/\b[Bb]eside\b/, 'next to; alongside; besides'],
  [/\banew\b/, 'again'],
  [/\bfor ever\b/, 'forever; indefinitely'],
  [/\b[Ww]hoever\b/, 'anyone who; a client that'],
  [
    /\bmak(e|es|ing) (a|an|the|another|new|no|two|its) (backup|key|token|copy|image|topic|store|file|page|stream|worker|process|connection)s?\b/,
    'create; build; produce',
  ],
  [/\b(is|are|was|were) none\b/, 'there is no …'],
  [/, too[.,;:)]/, 'also'],
  [/\bbeg[ia]ns? (again|anew)\b/, 'restart; start over'],
  [/\b([Gg]o|[Gg]oes|[Gg]oing|[Ww]ent) on\b/, 'continue; resume'],
  [/\b([Ss]omebody|[Nn]obody)\b/, 'someone; no one'],
  [/\black(s|ed)?\b(?! of)/, 'is missing; has no'],
  [/\bdearer\b/, 'more expensive'],
  [/\bgathers?\b/, 'buffers; collects'],
  [/\ball the same\b/, 'anyway; still'],
  [/\bnow and then\b/, 'occasionally'],
  [/\bby (itself|themselves)\b/, 'automatically; on its own'],
  [/\b(is|are|were|was) away\b|\bwhile away\b|\baway for\b/, 'offline; unavailable; down'],
  [/\b(a|each|some|five|ten|two) (hundred|thousand)\b/, 'the number in digits'],
  [/\bsome (hundred|hundreds|dozens|seconds|µs|100|minutes|ms)\b/, 'about; a few'],
  [/\bin all[,.]/, 'in total'],
  [/\b[Ff]ail-over/, 'failover'],
  [/\b[Tt]ime-out/, 'timeout'],
  [/\bof (its|their|your|our) own\b(?! accord)/, 'its own X'],
  [/\b(of|at) one moment\b/, 'one point in time; a snapshot'],
  [/\bconcerns?\b/, 'affects; matches'],
  [/\b[Nn]othing of\b/, 'none of; no part of'],
  [/\b(an?|the|its|each|every|no|this|whose|first|last|all) answers?\b(?! (to|is|are) the question)/, 'response'],
  [/(?<!(response|status) )\b(is|are|was|be) (an? )?(4\d\d|5\d\d)\b(?! [a-zµ%])/, 'returns 400; is rejected with 400'],
  [/\b(behavior|colors?|neighbors?|canceled|gray|center|\w+(al|er|il|ar|gn)iz(e|ed|es|ing))\b/, 'British spelling'],
]

/** Words that are also banned in texts for users: documents and messages. */
const wrongForUsers: readonly Better[] = [
  [/(?<!onnection )\b[Rr]efus(ed|es|al|als)\b/, 'rejected; rejects; rejection'],
  [/\b[Aa]nswer(s|ed)?\b(?= (with|by|is|are|has|of))/, 'response; returns'],
  [/\b[Rr]ights\b/, 'permissions'],
]

/** Words with a maximum number of uses, less than a fifth of the original number. Lower a number when you can. */
const ceilings: readonly (readonly [string, RegExp, number])[] = [
  [
    '"what" as a noun',
    /\b[Ww]hat (is|are|was|were|it|they|has|had|have|the|a|others|follows|followed|came|comes|changed)\b/g,
    25,
  ],
  ['says', /\b[Ss]ays?\b/g, 8],
  ['come', /\b([Cc]ome|[Cc]omes|[Cc]ame)\b/g, 8],
  ['since for because', /, since\b|\b[Ss]ince (a|the|it|no|there|they|that|its|this|only) /g, 40],
  ['at once', /\bat once\b/g, 5],
  ['begin', /\b([Bb]egin|[Bb]egins|[Bb]egan|[Bb]eginning|[Bb]egun)\b/g, 18],
  ['whatever', /\b([Ww]hatever|[Ww]hichever|[Ww]herever)\b/g, 3],
  ['made for created', /\b(is|are|was|were|be|been) made\b/g, 5],
  ['told', /\b(is|are|was|were|be) told\b/g, 3],
]

/** The maximum length of a sentence in a document. */
const sentenceWordsMax = 35

const prose = allProse()

t.test('the prose contains no banned words', (t) => {
  t.strictSame(wordsFound(prose, wrong), [])
  t.strictSame(
    wordsFound(
      prose.filter(({ path, kind }) => kind === 'document' || (kind === 'text' && path.startsWith('src/'))),
      wrongForUsers,
    ),
    [],
  )
  t.end()
})

for (const [name, pattern, most] of ceilings) {
  t.test(`${name} is used at most ${most} times`, (t) => {
    const found = prose.flatMap(({ path, line, text }) => (text.match(pattern) ?? []).map(() => `${path}:${line}`))
    t.ok(found.length <= most, `${found.length} times, such as ${found.slice(0, 5).join(' ')}`)
    t.end()
  })
}

t.test(`a sentence of a document has at most ${sentenceWordsMax} words`, (t) => {
  const long = prose
    .filter(({ kind }) => kind === 'document')
    .flatMap(({ path, line, text }) =>
      text
        .split(/(?<=[.!?:;|])\s+/)
        .filter((sentence) => sentence.split(' ').length > sentenceWordsMax)
        .map((sentence) => `${path}:${line}: ${sentence.slice(0, 60)}…`),
    )
  t.strictSame(long, [])
  t.end()
})

function wordsFound(pieces: readonly Prose[], words: readonly Better[]): readonly string[] {
  return pieces.flatMap(({ path, line, text }) =>
    words.flatMap(([pattern, better]) => {
      const [word] = pattern.exec(text) ?? []
      return word === undefined ? [] : [`${path}:${line}: "${word.trim()}": ${better}`]
    }),
  )
}
