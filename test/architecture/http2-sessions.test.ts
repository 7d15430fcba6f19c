import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productFiles } from './source-files.ts';

/** Exports of the module, other than types, that create sessions. */
const MAKES_SESSIONS =
  /\b(?<!type )(?:connect|createServer|createSecureServer|performServerHandshake)\b[^;]*?from 'node:http2'/;

const makers = productFiles().filter(({ text }) =>
  (text.match(/^import \{[^}]*\} from 'node:http2'/gm) ?? []).some((line) => MAKES_SESSIONS.test(line)),
);

test('no HTTP/2 session has a limit of memory that cancelled streams use up', () => {
  assert.deepEqual(
    makers.filter(({ text }) => !/\.\.\.SHARED_SESSION|http2ServerOptions\(/.test(text)).map(({ path }) => path),
    [],
    'cancelled streams use up the connection: spread SHARED_SESSION of src/kit/http2/sessions.ts',
  );
});

test('every HTTP/2 session is kept until its streams are freed', () => {
  assert.ok(makers.length >= 3, 'the edge, upstreams, and both ends of links between our programs');
  assert.deepEqual(
    makers.filter(({ text }) => !text.includes('outliveStreams(')).map(({ path }) => path),
    [],
    'a peer can abort the process: call outliveStreams of src/kit/http2/sessions.ts for each session',
  );
});

test('streams are cancelled through cancelStream, never in the event that ends them', () => {
  const direct = productFiles().filter(({ text }) => /\.close\((?:[a-z]+\.)?(?:NGHTTP2_CANCEL|8)\b/.test(text));
  assert.deepEqual(
    direct.map(({ path }) => path),
    [],
    'close(CANCEL) right after end() aborts the process: call cancelStream of src/kit/http2/stream-end.ts',
  );
});

test('sessions are destroyed through destroySession, never in an event of their streams', () => {
  const direct = productFiles().filter(
    ({ path, text }) =>
      !path.endsWith('src/kit/http2/sessions.ts') && /\bsession\.destroy\(|closing\((?:this\.#)?session\b/i.test(text),
  );
  assert.deepEqual(
    direct.map(({ path }) => path),
    [],
    'session.destroy() in an event of a stream aborts the process: call destroySession of src/kit/http2/sessions.ts',
  );
});
