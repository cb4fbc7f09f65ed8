/** The end of a tool's connection while its caller still sends. The tests of commands cover whole connections. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { ToolConnection } from '../../dist/cluster/tool/tool-connection.js'

/** More than the kernel keeps for a connection. */
const inputBytes = 32 * 1024 * 1024

t.test('input from a caller is still accepted after the tool has stopped reading', async (t) => {
  const listener = createServer({ allowHalfOpen: true })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.teardown(() => listener.close())
  const caller = connect((listener.address() as AddressInfo).port, '127.0.0.1')
  const [socket] = (await once(listener, 'connection')) as [Socket]
  const connection = new ToolConnection(socket)

  const written = new Promise<void>((resolve) => caller.write(Buffer.alloc(inputBytes), () => resolve()))
  await once(connection.input, 'readable')
  const closed = connection.close('{"error":"line 1 is wrong"}', 0)
  const first = await Promise.race([written.then(() => 'taken'), closed.then(() => 'given up')])
  t.equal(first, 'taken')
  caller.resume()
  caller.end()
  await closed
  t.ok(socket.closed)
})
