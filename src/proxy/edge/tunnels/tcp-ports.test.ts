import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TcpPorts } from './tcp-ports.ts';

test('a port that the system does not let the server open is not called one in use', async () => {
  // An address of documentation (RFC 5737), which no machine has.
  const range = { host: '192.0.2.1', first: 21_000, last: 21_002 };
  const ports = new TcpPorts({
    range,
    random: () => 0,
    maxConnections: 0,
    maxConnectionsPerAddress: 0,
    onProblem() {},
  });
  assert.equal(await ports.open(21_001, () => {}), 'error EADDRNOTAVAIL');
  assert.equal(await ports.open(null, () => {}), 'error EADDRNOTAVAIL');
  assert.equal(ports.has(21_001), false);
  ports.close();
});
