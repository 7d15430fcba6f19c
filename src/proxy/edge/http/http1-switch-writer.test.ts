import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { suite, test } from 'node:test';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { Http1SwitchWriter } from './http1-switch-writer.ts';

const SPLITTING: readonly HeaderList[] = [
  ['x-from-a-module', 'one\r\nset-cookie: session=stolen'],
  ['x-from-a-module\r\nset-cookie', 'session=stolen'],
  ['x-from-a-module', 'one\ntwo'],
  ['transfer-encoding', 'chunked'],
];

function open(): { readonly writer: Http1SwitchWriter; readonly sent: () => string } {
  let text = '';
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString('latin1');
      done();
    },
  });
  const writer = new Http1SwitchWriter(socket, Buffer.alloc(0), { contain: assert.fail });
  return { writer, sent: () => text };
}

suite('a response on a connection that was given away', () => {
  for (const headers of SPLITTING) {
    test(`is not sent with ${JSON.stringify(headers)}, which could end its line early or change its framing`, () => {
      for (const send of [
        (writer: Http1SwitchWriter) => writer.head(403, headers, 3),
        (writer: Http1SwitchWriter) => writer.answer(403, headers, Buffer.from('no')),
        (writer: Http1SwitchWriter) => writer.acceptSwitch(101, headers),
      ]) {
        const { writer, sent } = open();
        assert.throws(() => send(writer), { code: 'ERR_INVALID_CHAR' });
        assert.deepEqual([writer.isHeadSent, sent()], [false, '']);
      }
    });
  }

  test('frames a body of unknown length, and says that the connection ends', () => {
    const { writer, sent } = open();
    writer.head(403, ['x-why', 'because'], null);
    writer.write(Buffer.from('abc'));
    writer.end();
    assert.equal(
      sent(),
      'HTTP/1.1 403 Forbidden\r\nx-why: because\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    );
  });
});
