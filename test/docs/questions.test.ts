/**
 * Newcomers' questions are answered within two links of README.md: each in one section, which contains the essential words.
 */
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { documents, linksOf, readDocument, sectionOf } from '../support/documents.js'

/** A question, the section that answers it, and essential words of that section. */
const questions: readonly (readonly [question: string, section: string, answer: RegExp])[] = [
  ['In a word I know, what is it?', 'README.md', /key-value store/],
  ['Why not Redis?', 'docs/compare.md#redis', /Choose Redis if/],
  ['Why not MQTT or NATS?', 'docs/compare.md#mqtt-retained-messages', /Choose MQTT if/],
  ['Why not etcd?', 'docs/compare.md#etcd-and-nats-kv', /leader election/],
  ['What does a write cost, and how many a second?', 'docs/sizing.md#the-table', /overwrites per second, 1 publisher/s],
  ['How much RAM and disk for a million topics?', 'docs/sizing.md#the-table', /\d+ MB.*MiB/s],
  ['Which platforms?', 'docs/install.md#install-on-a-vm', /glibc 2\.34.*x86-64/s],
  ['How do I install it on Debian?', 'docs/install.md#install-on-a-vm', /apt-get install/],
  ['Is there an image?', 'docs/install.md#in-a-container', /podman build/],
  ['Largest value, path, batch?', 'docs/limits.md#topics-and-requests', /path \|.*value.*batch \|/s],
  ['How many streams per host or browser?', 'docs/limits.md#streams-and-polls', /streams in each worker.*browser/s],
  ['WebSockets?', 'docs/faq.md#reading-and-following', /WebSockets\?\*\* No/],
  ['TTL?', 'docs/api.md#ttl-and-expiry', /"ttl"/],
  ['Compare-and-set?', 'docs/api.md#constraints', /compare-and-set/],
  ['A live web page?', 'docs/tutorial.md#a-live-page', /<script/],
  ['Python, Go, Java?', 'docs/faq.md#reading-and-following', /Python, Go or Java/],
  ['What do I retry?', 'docs/http-clients.md#retries', /retry once/],
  ['How do I restrict a key?', 'docs/api-keys.md', /--allow fetch --under/],
  ['What if I lose a key?', 'docs/api-keys.md#a-lost-key', /keys rotate/],
  ['TLS?', 'docs/proxies.md#tls', /TOPICD_TLS_CERT/],
  ['Backup and restore?', 'docs/backup.md#backup-and-restore', /topicd restore/],
  ['Upgrade and roll back?', 'docs/upgrade.md', /rolls? back|allow-downgrades/],
  ['What happens when the machine dies?', 'docs/guarantees.md#when-something-fails', /machine/],
  ['What differs from Diffusion?', 'docs/migrate.md#from-diffusion', /no counterpart/],
  ['How mature is it, who supports it?', 'docs/faq.md#about-the-product', /mature.*support/s],
  ['What must I watch in production?', 'docs/monitor.md#what-to-watch', /Five figures/],
]

/** The documents that are at most `links` links from README.md. */
function within(links: number): ReadonlySet<string> {
  let found = new Set(['README.md'])
  for (let step = 0; step < links; step++) {
    const targets = [...found].flatMap((page) =>
      linksOf(readDocument(page)).map((link) => normalize(join(dirname(page), link.replace(/#.*/, '')))),
    )
    found = new Set([...found, ...targets.filter((target) => documents.includes(target))])
  }
  return found
}

t.test('each question is answered at most two links away from README.md', (t) => {
  const reached = within(2)
  for (const [question, section, answer] of questions) {
    const [page = '', anchor] = section.split('#')
    t.ok(reached.has(page), `${question} ${page} is at most two links away`)
    t.match(anchor === undefined ? readDocument(page) : sectionOf(readDocument(page), anchor), answer, question)
  }
  t.end()
})
