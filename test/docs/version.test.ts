/** The documents name the current release, which `npm run release` sets. */
import t from 'tap'
import { documents, withVersion } from '../../dist-packaging/documents.js'
import { repositoryVersion } from '../../dist-packaging/release.js'
import { readDocument } from '../support/documents.js'

t.test('the documents name the version in package.json', (t) => {
  const naming = documents.filter((name) => withVersion(readDocument(name), '0.0.0') !== readDocument(name))
  t.strictSame(naming, ['README.md', 'docs/install.md', 'docs/kubernetes.md', 'docs/upgrade.md'])
  for (const name of naming) t.equal(readDocument(name), withVersion(readDocument(name), repositoryVersion), name)
  t.end()
})
