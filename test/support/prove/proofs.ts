/**
 * The proofs: which test each of them runs again and again, how long one round is, and when it has been run enough.
 * How rounds are run and kept is not known here.
 */
import { diskFaultCases } from '../faults/disk-fault-cases.js'
import { mutants } from '../faults/mutants.js'
import { routes } from '../models/valid-bodies.js'
import type { Results } from '../proof-results.js'

export interface Proof {
  /** What it shows, in the words of the page. */
  readonly claim: string
  /** A long test that prints figures. */
  readonly test: string
  /** Whether that test runs others, which then count as a part of what judges. */
  readonly runsOtherTests?: boolean
  /** The environment of a round. @param left how much of the goal is still missing */
  readonly environment: (left: number) => Readonly<Record<string, string>>
  /** The figure that counts, and how much of it is enough. A round without any of it has shown nothing. */
  readonly counted: string
  readonly goal: number
  /** What each round of a proof with cases gets as CASE: it is enough when every one of them has passed. */
  readonly cases?: readonly string[]
  /** About how long a round takes; none begins with less time left. */
  readonly roundSeconds: number
  /** A round that takes longer than this has hung. */
  readonly roundSecondsMax: number
  /** What the page says of the figures of all rounds, an item of a list each. */
  readonly summary: (results: Results) => readonly string[]
}

const number = (figure: number | undefined): string => Math.round(figure ?? 0).toLocaleString('en')

/** How many there were of the route that had the fewest. */
function leastOf(results: Results, form: string): string {
  return number(Math.min(...routes.map((route) => results[`${route} ${form}`] ?? 0)))
}

/** Two hours with reloads, and half an hour without. */
const mixedSeconds = 9000

/** Sizes and times of an early and a late part of a run. */
function beforeAndAfter(results: Results, early: string, late: string): readonly string[] {
  const names = {
    workersMiB: 'in use in a worker',
    workersResidentMiB: 'resident in a worker',
    primaryMiB: 'in use in the primary',
    primaryResidentMiB: 'resident in the primary',
    fileMiB: 'the file',
    fetchP99Ms: "fetches' p99",
    writeP99Ms: "writes' p99",
  }
  return Object.entries(names)
    .filter(([name]) => `${early}.${name}.Max` in results)
    .map(([name, words]) => {
      const unit = name.endsWith('MiB') ? 'MiB' : 'ms'
      return `${words} ${results[`${early}.${name}.Max`]}, then ${results[`${late}.${name}.Max`]} ${unit}`
    })
}

/** The requests to a large store, as their figures are named, and in words. */
const largeStoreRequests = {
  fetch: 'fetch',
  page: 'first page of 10',
  deepPage: 'page from anywhere',
  overwrite: 'overwrite',
  batch: 'batch of 100',
}

export const proofs: Readonly<Record<string, Proof>> = {
  kills: {
    claim:
      'SIGKILLs of workers, writers and primaries under load lose no acknowledged write, and show no stale read and no part of a batch',
    test: 'durability/crash.long',
    environment: () => ({ TORTURE_SECONDS: '120', SILENCE_MS_MAX: '1000' }),
    counted: 'kills',
    goal: 1000,
    roundSeconds: 130,
    roundSecondsMax: 600,
    summary: (f) => [
      `${number(f.kills)} kills, ${number(f.writers)} of them of writers and ${number(f.primaries)} of primaries; ` +
        `${number(f.restartsDone)} rolling restarts completed and ${number(f.restartsBrokenOff)} interrupted`,
      `${number(f.acknowledged)} acknowledged writes, ${number(f.batches)} batches, ${number(f.groups)} removals by selector, ` +
        `${number(f.reads)} reads and ${number(f.pages)} pages: ${number(f.violations)} writes lost or reads stale, ` +
        `${number(f.parts)} parts of batches, ${number(f.refused)} refusals`,
      `${number(f.latePages)} pages showed a batch that got no response after a later one; lmdb failed ${number(f.commitsFailed)} commits`,
      `alongside: keys ${number(f.keys)}, check ${number(f.check)}, export ${number(f.export)}, backup ${number(f.backup)} times, ` +
        `${number(f.wrongCommands)} with a wrong result, and ${number(f.excusedCommands)} ended by a kill`,
      `while a worker served, the longest time without a response was ${number(f.silenceMsMax)} ms; the longest response took ` +
        `${number(f.slowestMsMax)} ms`,
    ],
  },
  'writer-kills': {
    claim: 'when the process that writes is killed under load, no request fails, is carried out twice, or is lost',
    test: 'durability/writer-kills.long',
    environment: (left) => ({ KILLS: String(Math.min(left, 100)) }),
    counted: 'kills',
    goal: 300,
    roundSeconds: 180,
    roundSecondsMax: 1200,
    summary: (f) => [
      `${number(f.kills)} kills; ${number(f.requests)} creations, settings and removals, ${number(f.transfers)} transfers in batches ` +
        `and ${number(f.added)} additions to one number: ${number(f.wrong)} failed or carried out twice`,
      `the longest response took ${number(f.slowestMsMax)} ms, and ${number(f.slowestEarlyMsMax)} ms where the spare was still loading`,
    ],
  },
  'power-cuts': {
    claim:
      'power cuts under writes, batches and removals by selector lose nothing that was acknowledged and leave a sound store',
    test: 'durability/power-cut.long',
    environment: (left) => ({ POWER_CUTS: String(Math.min(left, 10)) }),
    counted: 'cuts',
    goal: 100,
    roundSeconds: 120,
    roundSecondsMax: 900,
    summary: (f) => [
      `${number(f.cuts)} cuts, ${number(f['batches and removals'])} of them in the middle of batches and removals, ${number(f.backup)} ` +
        `during a backup and ${number(f['after a backup'])} after one, ${number(f['rolling restart'])} during a rolling restart`,
      `of ${number(f.acknowledged)} acknowledged writes ${number(f.lost)} lost, ${number(f.faults)} parts or returns, all stores sound, ` +
        `${number(f.restored)} backups restored`,
      `found on the disks: ${number(f.whole)} batches without a response whole and ${number(f.absent)} absent, ` +
        `${number(f.halfRemoved)} removals cut in half`,
      `${number(f.controls)} controls lost ${number(f.lostByControls)}`,
    ],
  },
  'changes-model': {
    claim:
      'kills of workers, writers and whole services, and rolling restarts, hide no change from those who follow them, and show no topic that goes back and no part of a batch',
    test: 'api/changes-model.long',
    environment: () => ({ SECONDS: '300' }),
    counted: 'changes',
    goal: 1_000_000,
    roundSeconds: 660,
    roundSecondsMax: 1800,
    summary: (f) => [
      `${number(f.changes)} changes over LMDB and PostgreSQL by ${number(f.writes)} acknowledged requests`,
      `${number(f.results)} results to polls and streams, which had the state of one moment ${number(f.completions)} times: ` +
        `${number(f.missed)} missed, gone back or in part, ${number(f.gone)} tokens refused`,
      `${number(f.workersKilled)} kills of workers, ${number(f.writersKilled)} of writers and ${number(f.servicesKilled)} of whole ` +
        `services, ${number(f.restarts)} rolling restarts`,
    ],
  },
  hostile: {
    claim:
      'hostile requests end no worker, get only documented responses, leave memory flat, and cost another client little, as does a stream of batches',
    test: 'http/fuzz.long',
    // In one piece, and to one service: what grows would not show in several.
    environment: () => ({ FUZZ_REQUESTS: '1000000', SLOWER_MAX: '2' }),
    counted: 'requests',
    goal: 1_000_000,
    roundSeconds: 1800,
    roundSecondsMax: 4 * 3600,
    summary: (f) => [
      `${number(f.requests)} requests over 2 workers in ${number((f.seconds ?? 0) / 60)} min; to each route at least ` +
        `${['whole', 'chunked', 'cut', 'lost', 'reset', 'mutated', 'valid'].map((form) => `${leastOf(f, form)} ${form}`).join(', ')}, ` +
        `and ${leastOf(f, '200')} that got 200; ${number(f.markers)} further requests behind sound ones understood`,
      `${number(f.undocumented)} undocumented responses, ${number(f.deadWorkers)} dead workers`,
      `the larger worker had ${number(f.firstMiBMax)} MiB of its own after a tenth and ${number(f.lastMiBMax)} at the end`,
      `another client's median was ${number(f.aloneUsMax)} µs alone and ${number(f.besideUsMax)} µs alongside, its p99 ` +
        `${number(f.besideP99UsMax)} µs, its longest response ${number(f.besideMsMax)} ms`,
      `alongside one client's batches of 100 without pause, a fetch's median was ${number(f.readBesideUsMax)} µs instead of ` +
        `${number(f.readAloneUsMax)}, and an overwrite's ${number(f.writtenBesideUsMax)} instead of ${number(f.writtenAloneUsMax)}`,
    ],
  },
  'unread-streams': {
    claim: 'streams whose clients read nothing leave memory flat, and others are served as before',
    test: 'api/streams-unread.long',
    // In one piece: what grows would not show in several.
    environment: () => ({ SECONDS: '3600', CLIENTS: '1000' }),
    counted: 'seconds',
    goal: 3600,
    roundSeconds: 4000,
    roundSecondsMax: 4 * 3600,
    summary: (f) => [
      `1,000 clients that read nothing (${number(f.streams)} streams, since they are disconnected), ${number(f.changes)} changes in an hour`,
      `the larger of 2 workers had at most ${number(f.earlyMiBMax)} MiB of its own early and ${number(f.lateMiBMax)} late`,
      `a client that reads had each batch of 1,000 within ${number(f.earlyMsMax)} ms early and ${number(f.lateMsMax)} late`,
    ],
  },
  'mixed-load': {
    claim: 'under a mixed load with a reload every five minutes every response is right, and nothing grows',
    test: 'operate/mixed-load.long',
    // In one piece: what grows would not show in several.
    environment: () => ({ MIXED_SECONDS: String(mixedSeconds) }),
    counted: 'seconds',
    goal: mixedSeconds,
    roundSeconds: mixedSeconds + 60,
    roundSecondsMax: mixedSeconds + 600,
    summary: (f) => [
      `${number(f.writes)} writes, ${number(f.fetches)} fetches, ${number(f.walks)} walks of 20,000 topics, ` +
        `${number(f.batches)} batches, ${number(f.removals)} removals by selector, ${number(f.keys)} keys: ${number(f.faults)} wrong ` +
        `responses; longest fetch ${number(f.fetchMax)} ms, longest write ${number(f.writeMax)} ms`,
      `two hours with ${number(f.reloads)} reloads: ${beforeAndAfter(f, 'early', 'late').join('; ')}`,
      `half an hour without: ${beforeAndAfter(f, 'begin', 'end').join('; ')}`,
    ],
  },
  'disk-faults': {
    claim:
      'a write, flush or opening that fails, whichever it is, never makes a 200 wrong, leaves a store that opens, and is named in the log if it had any effect',
    test: 'durability/disk-faults.long',
    environment: () => ({}),
    counted: 'cases',
    goal: diskFaultCases.length,
    cases: diskFaultCases.map(({ name }) => name),
    roundSeconds: 300,
    roundSecondsMax: 1800,
    summary: (f) => [
      `EIO and ENOSPC at each such call of a first start, a start and a service that writes: ${number(f.cases)} cases, ` +
        `${number(f.faults)} runs, ${number(f.injected)} failed calls, ${number(f.failedStarts)} refused starts, ${number(f.refusals)} ` +
        `requests without a 200, ${number(f.harmless)} without any effect, ${number(f.wrong)} wrong responses or damages`,
    ],
  },
  'large-store': {
    claim:
      'a request to ten million topics takes at most three times as long as one to ten thousand, a batch from anywhere nine times; they are served from a quarter of the memory that they take',
    test: 'operate/large-store.long',
    environment: () => ({ LARGE_TOPICS: '10000000', SLOWER_MAX: '3', LIMITED_MS_MAX: '1000' }),
    counted: 'topics',
    goal: 10_000_000,
    roundSeconds: 3600,
    roundSecondsMax: 4 * 3600,
    summary: (f) => [
      `a file of ${number(f['large.fileMiB.Max'])} MiB; import, export, check, backup and restore in ` +
        `${['import', 'export', 'check', 'backup', 'restore'].map((name) => f[`large.${name}S.Max`]).join(', ')} s`,
      `a worker's own memory ${f['large.workerMiB.Max']} MiB (${f['small.workerMiB.Max']} with 10,000 topics), with the pages of the ` +
        `file that it has touched ${number(f['large.residentMiB.Max'])}, the primary's ${f['large.primaryMiB.Max']} ` +
        `(${f['small.primaryMiB.Max']})`,
      `after all topics were read within ${number(f['limited.limitMiB.Max'])} MiB of memory for all processes and cached pages, ` +
        `${number(f['limited.faults.Max'])} pages came from the disk during the requests`,
      ...Object.entries(largeStoreRequests).map(([name, words]) => {
        const of = (when: string): string =>
          ['Us', 'P99Us', 'LongestUs'].map((figure) => number(f[`${when}.${name}${figure}.Max`])).join(' ')
        return `${words}, µs: ${of('small')} / ${of('large')} / ${of('limited')}`
      }),
    ],
  },
  mutants: {
    claim: 'faults planted in the program are each found by a test',
    test: 'durability/mutants.long',
    runsOtherTests: true,
    environment: () => ({}),
    counted: 'mutants',
    goal: mutants.length,
    cases: mutants.map(({ fault }) => fault),
    roundSeconds: 300,
    roundSecondsMax: 1800,
    summary: (f) => [
      `${number(f.mutants)} faults, each found by an assertion about it in its test, which passes without the fault`,
    ],
  },
}
