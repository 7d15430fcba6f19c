import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServerProcess } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const KEY = `preset-${'k'.repeat(32)}`;
const FAULTS = fileURLToPath(new URL('../../support/fault-on-signal.mjs', import.meta.url));

/** The faults are injected by --import, which a single executable does not run. */
const skip = process.env['POSTERN_TEST_BINARY'] !== undefined && 'a single executable ignores --import';

suite('an exception that no connection owns', { timeout: 120_000, skip }, () => {
  for (const fault of ['exception', 'rejection']) {
    test(`drains the server and exits with 1: ${fault}`, async (t) => {
      const env = { POSTERN_API_KEY: KEY, NODE_OPTIONS: `--import=${FAULTS}`, FAULT: fault };
      const server = startServerProcess(t, await tempDir(t), { env });
      const { addresses } = await server.ready();
      const port = Number(addresses.api.split(':')[1]);
      const body = JSON.stringify({ description: 'sent in two halves' });
      const socket = connect(port, '127.0.0.1').setEncoding('utf8');
      let answer = '';
      socket.on('data', (text: string) => {
        answer += text;
      });
      const fields = `Authorization: Bearer ${KEY}\r\nService-Version: 2\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
      // The server has certainly received it once it requests the body.
      socket.write(`POST /ip_policies HTTP/1.1\r\nHost: x\r\n${fields}\r\nExpect: 100-continue\r\n\r\n`);
      while (!answer.includes('100 Continue')) await once(socket, 'data');
      server.child.kill('SIGUSR2');
      while (!server.stdout().includes('uncaught exception')) await new Promise((resolve) => setTimeout(resolve, 20));
      socket.write(body);
      await once(socket, 'close');
      assert.match(answer, /HTTP\/1\.1 201 /, 'requests in progress finish');
      assert.deepEqual(await server.exited, { code: 1, signal: null });
      const fatal = server.lines().filter(({ level }) => level === 'fatal');
      assert.match(JSON.stringify(fatal), new RegExp(`injected ${fault}`));
      assert.equal(fatal.length, 1);
    });
  }
});
