import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseAnswer } from '../../../test/upstream/parse-answer.ts';

const CRLF = '\r\n';

function answer(...lines: string[]): string {
  return lines.join(CRLF);
}

suite('accepted', () => {
  test('a body with Content-Length; names in lower case, values trimmed', () => {
    const got = parseAnswer([
      answer('HTTP/1.1 200 OK', 'Content-Length: 5', 'X-A: \t b c \t', 'ETag: "x"', '', 'hello'),
    ]);
    assert.deepEqual(got.head, { status: 200, headers: ['x-a', 'b c', 'etag', '"x"'], bodyBytes: 5, declaredBytes: 5 });
    assert.equal(got.body, 'hello');
    assert.equal(got.state, 'done');
    assert.equal(got.isReusable, true);
  });

  test('chunks, with extensions ignored and trailers kept except for framing and routing', () => {
    const got = parseAnswer([
      answer(
        'HTTP/1.1 200 OK',
        'Transfer-Encoding: chunked',
        'Trailer: X-Sum',
        '',
        '5;a=b;c="d \\" e"',
        'hello',
        '00A',
        '0123456789',
        '0',
        'X-Sum: 1',
        'Content-Length: 7',
        'Host: evil',
        'Set-Cookie: a=b',
        '',
        '',
      ),
    ]);
    assert.equal(got.body, 'hello0123456789');
    assert.deepEqual(got.trailers, ['x-sum', '1']);
    assert.deepEqual(got.head?.headers, []);
    assert.equal(got.head?.bodyBytes, null);
    assert.equal(got.isReusable, true);
  });

  test('removes hop-by-hop headers, and those that Connection names', () => {
    const got = parseAnswer([
      answer(
        'HTTP/1.1 200 OK',
        'Connection: keep-alive, X-Private , Upgrade',
        'Connection: X-Other',
        'Keep-Alive: timeout=5, max=100',
        'Proxy-Connection: keep-alive',
        'TE: trailers',
        'Upgrade: h2c',
        'x-private: 1',
        'X-OTHER: 2',
        'x-kept: 3',
        'Content-Length: 0',
        '',
        '',
      ),
    ]);
    assert.deepEqual(got.head?.headers, ['x-kept', '3']);
    assert.equal(got.keepAliveSeconds, 5);
  });

  test('HEAD, 204 and 304 have no body, but report Content-Length', () => {
    const head = answer('HTTP/1.1 200 OK', 'Content-Length: 1234', '', '');
    const ofHead = parseAnswer([head], { isHead: true });
    assert.deepEqual([ofHead.state, ofHead.head?.bodyBytes, ofHead.head?.declaredBytes], ['done', 0, 1234]);
    assert.equal(ofHead.isReusable, true);
    const notModified = parseAnswer([head.replace('200 OK', '304 Not Modified')]);
    assert.deepEqual(
      [notModified.state, notModified.isReusable, notModified.head?.declaredBytes],
      ['done', true, 1234],
    );
    const noContent = parseAnswer([head.replace('200 OK', '204 No Content')]);
    assert.deepEqual(
      [noContent.state, noContent.isReusable],
      ['done', false],
      'a 204 that announces a body is suspect',
    );
    assert.equal(parseAnswer([answer('HTTP/1.1 204 No Content', '', '')]).isReusable, true);
  });

  test('a body without framing ends with the connection, which is not reused', () => {
    const got = parseAnswer([answer('HTTP/1.1 200 OK', '', 'abc'), 'def'], { ends: true });
    assert.deepEqual([got.state, got.body, got.isReusable, got.head?.bodyBytes], ['done', 'abcdef', false, null]);
    assert.equal(parseAnswer([answer('HTTP/1.1 200 OK', '', 'abc')]).state, 'until-close');
  });

  test('keeps HTTP/1.0 only on request, and honors Connection: close', () => {
    const lines = (version: string, connection: string) =>
      parseAnswer([answer(`HTTP/${version} 200 OK`, `Connection: ${connection}`, 'Content-Length: 0', '', '')])
        .isReusable;
    assert.equal(lines('1.0', 'x'), false);
    assert.equal(lines('1.0', 'keep-alive'), true);
    assert.equal(lines('1.0', 'Keep-Alive'), true);
    assert.equal(lines('1.1', 'Close'), false);
    assert.equal(lines('1.1', 'keep-alive, close'), false);
  });

  test('informational responses come before the final one', () => {
    const got = parseAnswer([
      answer('HTTP/1.1 100 Continue', '', 'HTTP/1.1 103 Early Hints', 'Link: </a>', '', 'HTTP/1.1 204 X', '', ''),
    ]);
    assert.deepEqual(got.informational, [
      [100, []],
      [103, ['link', '</a>']],
    ]);
    assert.equal(got.head?.status, 204);
  });

  test('101 when requested, leaving the bytes behind it', () => {
    const bytes = answer('HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: WebSocket', '', 'raw');
    const got = parseAnswer([bytes], { switchTo: 'websocket' });
    assert.deepEqual([got.state, got.head?.status, got.rest], ['switched', 101, 'raw']);
    assert.equal(parseAnswer([bytes]).state, 'failed');
    assert.equal(parseAnswer([bytes], { switchTo: 'other' }).state, 'failed');
  });

  test('bytes after the end are left over, never read as another response', () => {
    const one = answer('HTTP/1.1 200 OK', 'Content-Length: 1', '', 'a');
    const got = parseAnswer([one + one]);
    assert.deepEqual([got.state, got.body, got.rest], ['done', 'a', one]);
  });

  test('detects a challenge that authenticates the connection', () => {
    for (const value of ['NTLM', 'Negotiate', 'Basic realm="x", NTLM', 'negotiate abc==']) {
      const got = parseAnswer([answer('HTTP/1.1 401 X', `WWW-Authenticate: ${value}`, 'Content-Length: 0', '', '')]);
      assert.equal(got.hasConnectionAuth, true, value);
    }
    const basic = parseAnswer([answer('HTTP/1.1 401 X', 'WWW-Authenticate: Basic', 'Content-Length: 0', '', '')]);
    assert.equal(basic.hasConnectionAuth, false);
  });
});

suite('refused', () => {
  const withHeader = (...lines: string[]) => answer('HTTP/1.1 200 OK', ...lines, '', '');
  const withChunks = (...lines: string[]) => answer('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', ...lines);
  const cases: Readonly<Record<string, string>> = {
    'another protocol': answer('SSH-2.0-OpenSSH', ''),
    'HTTP/2.0': answer('HTTP/2.0 200 OK', '', ''),
    'HTTP/1.2': answer('HTTP/1.2 200 OK', '', ''),
    'HTTP/0.9': '<html>hello</html>',
    'lower-case version': answer('http/1.1 200 OK', '', ''),
    'a line break before the status line': answer('', 'HTTP/1.1 200 OK', '', ''),
    'two digits of status': answer('HTTP/1.1 20 OK', '', ''),
    'four digits of status': answer('HTTP/1.1 2000 OK', '', ''),
    'status below 100': answer('HTTP/1.1 099 OK', '', ''),
    'two spaces': answer('HTTP/1.1  200 OK', '', ''),
    'NUL in the reason': answer('HTTP/1.1 200 O\0K', '', ''),
    'bare LF': 'HTTP/1.1 200 OK\nContent-Length: 0\n\n',
    'bare LF after CRLF lines': 'HTTP/1.1 200 OK\r\nA: b\nContent-Length: 0\r\n\r\n',
    'bare CR': 'HTTP/1.1 200 OK\r\nA: b\rContent-Length: 0\r\n\r\n',
    'CR CR LF': 'HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n',
    'obsolete folding': withHeader('A: b', ' c', 'Content-Length: 0'),
    'folding in the first line': withHeader(' A: b'),
    'space before the colon': withHeader('Content-Length : 0'),
    'no colon': withHeader('Content-Length 0'),
    'empty name': withHeader(': a'),
    'name with a bad byte': withHeader('a(b): c'),
    'name with obs-text': withHeader('a\xe4: c'),
    'NUL in a value': withHeader('A: b\0c'),
    'DEL in a value': withHeader('A: b\x7fc'),
    'control byte in a value': withHeader('A: b\x01c'),
    'two Content-Length': withHeader('Content-Length: 1', 'Content-Length: 2'),
    'two equal Content-Length': withHeader('Content-Length: 1', 'content-length: 1'),
    'Content-Length list': withHeader('Content-Length: 1, 1'),
    'Content-Length +1': withHeader('Content-Length: +1'),
    'Content-Length -1': withHeader('Content-Length: -1'),
    'Content-Length 01': withHeader('Content-Length: 01'),
    'Content-Length 1 0': withHeader('Content-Length: 1 0'),
    'Content-Length 0x1': withHeader('Content-Length: 0x1'),
    'Content-Length empty': withHeader('Content-Length:'),
    'Content-Length huge': withHeader('Content-Length: 9999999999999999'),
    'Content-Length and Transfer-Encoding': withHeader('Content-Length: 1', 'Transfer-Encoding: chunked'),
    'the other way round': withHeader('Transfer-Encoding: chunked', 'Content-Length: 1'),
    'gzip, chunked': withHeader('Transfer-Encoding: gzip, chunked'),
    'chunked, identity': withHeader('Transfer-Encoding: chunked, identity'),
    'chunked, chunked': withHeader('Transfer-Encoding: chunked, chunked'),
    identity: withHeader('Transfer-Encoding: identity'),
    xchunked: withHeader('Transfer-Encoding: xchunked'),
    'quoted chunked': withHeader('Transfer-Encoding: "chunked"'),
    'chunked twice': withHeader('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'),
    'empty Transfer-Encoding': withHeader('Transfer-Encoding:'),
    'chunked in odd case': withHeader('Transfer-Encoding: ChunKed'),
    'chunked in HTTP/1.0': answer('HTTP/1.0 200 OK', 'Transfer-Encoding: chunked', '', ''),
    '100 with a length': answer('HTTP/1.1 100 Continue', 'Content-Length: 5', '', ''),
    '101 that was not requested': answer('HTTP/1.1 101 X', 'Upgrade: websocket', '', ''),
    'chunk size 0x5': withChunks('0x5', 'hello', '0', '', ''),
    'chunk size -1': withChunks('-1', ''),
    'chunk size +5': withChunks('+5', 'hello', '0', '', ''),
    'chunk size empty': withChunks('', 'hello', ''),
    'chunk size too large': withChunks('10000000000000', ''),
    'chunk size that overflows 64 bits': withChunks('10000000000000005', 'hello', '0', '', ''),
    'space before the chunk size': withChunks(' 5', 'hello', '0', '', ''),
    'space after the chunk size': withChunks('5 ', 'hello', '0', '', ''),
    'space before an extension': withChunks('5 ;a', 'hello', '0', '', ''),
    'extension with a bare CR': withChunks('5;a\rb', 'hello', '0', '', ''),
    'extension ended by a bare LF': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nhello\r\n0\r\n\r\n',
    'chunk size ended by a bare LF': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n',
    'extension with a control byte': withChunks('5;a\x01', 'hello', '0', '', ''),
    'extension too long': withChunks(`5;a=${'b'.repeat(600)}`, 'hello', '0', '', ''),
    'too many extension bytes': withChunks(...Array<string>(40).fill(`1;a=${'b'.repeat(450)}${CRLF}x`), '0', '', ''),
    'chunk longer than announced': withChunks('5', 'hello!', '0', '', ''),
    'chunk ended by a bare LF': withChunks('5', 'hello\n0', '', ''),
    'trailer folded': withChunks('0', 'A: b', ' c', '', ''),
    'trailer without colon': withChunks('0', 'A', '', ''),
    'trailer with a bare LF': withChunks('0', 'A: b\nC: d', '', ''),
    'last chunk ended by a bare LF': withChunks('0', '\n'),
  };
  for (const [name, bytes] of Object.entries(cases)) {
    test(name, () => {
      const whole = parseAnswer([bytes]);
      assert.equal(whole.state, 'failed', JSON.stringify(whole));
      assert.equal(whole.problem?.reason, 'malformed');
      assert.deepEqual(parseAnswer(bytes.split('')).problem?.reason, 'malformed', 'byte by byte');
    });
  }

  test('heads and trailers beyond their limits', () => {
    const long = withHeader(`A: ${'b'.repeat(20_000)}`);
    const many = withHeader(...Array.from({ length: 101 }, (_, i) => `h${i}: x`));
    const trailers = withChunks('0', `A: ${'b'.repeat(20_000)}`, '', '');
    const manyTrailers = withChunks('0', ...Array.from({ length: 101 }, (_, i) => `h${i}: x`), '', '');
    for (const bytes of [long, many, trailers, manyTrailers]) {
      assert.equal(parseAnswer([bytes]).problem?.reason, 'headers_too_large');
      assert.equal(parseAnswer(bytes.split('')).problem?.reason, 'headers_too_large');
    }
    assert.equal(parseAnswer([withHeader(...Array.from({ length: 100 }, (_, i) => `h${i}: x`))]).problem, null);
  });

  test('a flood of informational responses', () => {
    const got = parseAnswer([answer('HTTP/1.1 103 X', '', '').repeat(1000)]);
    assert.equal(got.state, 'failed');
    assert.equal(got.informational.length, 20);
  });

  test('detects errors before the head ends', () => {
    assert.equal(parseAnswer(['SSH']).state, 'failed');
    assert.equal(parseAnswer(['HTTP/1.1 200 OK\nA']).state, 'failed');
    assert.equal(parseAnswer(['HTTP/1.1 200 OK\r', 'x']).state, 'failed');
    assert.equal(parseAnswer(['HTTP/1.1 200 OK\r\nA: b\r']).state, 'head');
  });
});

test('passes nothing on after stop, even from within a callback', () => {
  const got = parseAnswer(
    [answer('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '1', 'a', '1', 'b', '0', '', '')],
    {
      stopsAtData: true,
    },
  );
  assert.deepEqual([got.body, got.state, got.problem], ['a', 'failed', null]);
});
