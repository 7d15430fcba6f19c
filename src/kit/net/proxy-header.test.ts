import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { parseAddress } from './cidr.ts';
import { crc32c, type HeaderReading, MORE, readProxyHeader } from './proxy-header.ts';

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');

function version2(versionAndCommand: number, family: number, payload: Uint8Array): Buffer {
  const head = Buffer.from([versionAndCommand, family, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([SIGNATURE, head, payload]);
}

function field(type: number, value: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([type, value.length >> 8, value.length & 0xff]), value]);
}

/** With a checksum field, which is filled in unless `wrong`. */
function checksummed(family: number, addresses: Buffer, isWrong = false): Buffer {
  const header = version2(
    0x21,
    family,
    Buffer.concat([addresses, field(4, Buffer.alloc(5)), field(3, Buffer.alloc(4))]),
  );
  header.writeUInt32BE(isWrong ? ~crc32c(header) >>> 0 : crc32c(header), header.length - 4);
  return header;
}

const IPV4 = Buffer.from([203, 0, 113, 7, 192, 0, 2, 1, 0xc0, 0x01, 1, 0xbb]);
const IPV6 = Buffer.concat([
  Buffer.from('20010db8000000000000000000000007', 'hex'),
  Buffer.from('20010db8000000000000000000000001', 'hex'),
  Buffer.from([0xc0, 0x01, 1, 0xbb]),
]);
const MAPPED = Buffer.concat([
  Buffer.from('00000000000000000000ffffcb007107', 'hex'),
  Buffer.from('00000000000000000000ffffc0000201', 'hex'),
  Buffer.from([0xc0, 0x01, 1, 0xbb]),
]);

const line = (text: string): Buffer => Buffer.from(`${text}\r\n`, 'latin1');
const FROM_V4 = { address: '203.0.113.7', port: 49_153 };
const FROM_V6 = { address: '2001:db8::7', port: 49_153 };

suite('a PROXY header', () => {
  for (const [what, bytes, source] of [
    ['TCP4', line('PROXY TCP4 203.0.113.7 192.0.2.1 49153 443'), FROM_V4],
    ['TCP6', line('PROXY TCP6 2001:db8::7 2001:db8::1 49153 443'), FROM_V6],
    ['TCP6 in full', line('PROXY TCP6 2001:0DB8:0:0:0:0:0:7 2001:db8::1 49153 443'), FROM_V6],
    ['TCP6 with IPv4 inside', line('PROXY TCP6 ::ffff:203.0.113.7 ::ffff:192.0.2.1 49153 443'), FROM_V4],
    ['UNKNOWN', line('PROXY UNKNOWN'), null],
    ['UNKNOWN with anything', line('PROXY UNKNOWN ffff::1 nonsense 1 2 3'), null],
    ['v2 IPv4', version2(0x21, 0x11, IPV4), FROM_V4],
    ['v2 IPv6', version2(0x21, 0x21, IPV6), FROM_V6],
    ['v2 IPv4 in IPv6', version2(0x21, 0x21, MAPPED), FROM_V4],
    ['v2 AF_UNIX', version2(0x21, 0x31, Buffer.alloc(216, 'a')), null],
    ['v2 AF_UNSPEC', version2(0x21, 0x00, Buffer.alloc(0)), null],
    ['v2 LOCAL', version2(0x20, 0x00, Buffer.alloc(0)), null],
    ['v2 LOCAL with a block to discard', version2(0x20, 0x11, Buffer.alloc(40, 1)), null],
    [
      'v2 with fields',
      version2(0x21, 0x11, Buffer.concat([IPV4, field(0xea, Buffer.alloc(20)), field(5, Buffer.alloc(0))])),
      FROM_V4,
    ],
    ['v2 with a checksum', checksummed(0x11, IPV4), FROM_V4],
    ['v2 of the greatest length', version2(0x21, 0x11, Buffer.concat([IPV4, field(4, Buffer.alloc(505))])), FROM_V4],
  ] as const) {
    test(`is read: ${what}`, () => {
      assert.deepEqual(readProxyHeader(bytes), { state: 'done', source, length: bytes.length });
      const followed = readProxyHeader(Buffer.concat([bytes, Buffer.from('\x16\x03\x01 and so on')]));
      assert.deepEqual(followed, { state: 'done', source, length: bytes.length });
      for (let length = 0; length < bytes.length; length += 1) {
        assert.deepEqual(readProxyHeader(bytes.subarray(0, length)), MORE, `${length} bytes of it`);
      }
    });
  }

  for (const [what, bytes, problem] of [
    ['TLS', Buffer.from([22, 3, 1, 0, 200]), 'missing'],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n'), 'missing'],
    ['HTTP with a similar method', Buffer.from('PROPFIND /'), 'missing'],
    ['a small letter', line('proxy TCP4 203.0.113.7 192.0.2.1 49153 443'), 'missing'],
    ['CRLF and something else', Buffer.from('\r\n\r\nGET /'), 'missing'],
    ['another family', line('PROXY UDP4 203.0.113.7 192.0.2.1 49153 443'), 'malformed'],
    ['no family', line('PROXY '), 'malformed'],
    ['two spaces', line('PROXY TCP4  203.0.113.7 192.0.2.1 49153 443'), 'malformed'],
    ['an IPv6 address as TCP4', line('PROXY TCP4 ::1 192.0.2.1 49153 443'), 'malformed'],
    ['an IPv4 address as TCP6', line('PROXY TCP6 203.0.113.7 192.0.2.1 49153 443'), 'malformed'],
    ['a leading zero in an address', line('PROXY TCP4 203.0.113.07 192.0.2.1 49153 443'), 'malformed'],
    ['a short IPv4 address', line('PROXY TCP4 127.1 192.0.2.1 49153 443'), 'malformed'],
    ['a zone', line('PROXY TCP6 fe80::1%eth0 ::1 49153 443'), 'malformed'],
    ['a bad destination', line('PROXY TCP4 203.0.113.7 nowhere 49153 443'), 'malformed'],
    ['a port out of range', line('PROXY TCP4 203.0.113.7 192.0.2.1 65536 443'), 'malformed'],
    ['a port with a leading zero', line('PROXY TCP4 203.0.113.7 192.0.2.1 049153 443'), 'malformed'],
    ['a port with a sign', line('PROXY TCP4 203.0.113.7 192.0.2.1 +1 443'), 'malformed'],
    ['a missing port', line('PROXY TCP4 203.0.113.7 192.0.2.1 49153'), 'malformed'],
    ['a word too many', line('PROXY TCP4 203.0.113.7 192.0.2.1 49153 443 x'), 'malformed'],
    ['a bare line feed before the end', line('PROXY TCP4 203.0.113.7 192.0.2.1 49153 443\nx'), 'malformed'],
    ['a line without an end', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(100)}`), 'too_large'],
    ['version 3', version2(0x31, 0x11, IPV4), 'unsupported'],
    ['another command', version2(0x22, 0x11, IPV4), 'unsupported'],
    ['datagrams', version2(0x21, 0x12, IPV4), 'unsupported'],
    ['another address family', version2(0x21, 0x41, Buffer.alloc(216)), 'unsupported'],
    ['a stream without a family', version2(0x21, 0x01, Buffer.alloc(0)), 'unsupported'],
    ['addresses truncated', version2(0x21, 0x21, IPV4), 'malformed'],
    ['a field truncated', version2(0x21, 0x11, Buffer.concat([IPV4, Buffer.from([4, 0, 9, 1])])), 'malformed'],
    ['a field without a length', version2(0x21, 0x11, Buffer.concat([IPV4, Buffer.from([4, 0])])), 'malformed'],
    ['a length beyond the limit', version2(0x21, 0x11, Buffer.alloc(521)).subarray(0, 16), 'too_large'],
    ['a wrong checksum', checksummed(0x11, IPV4, true), 'checksum'],
    ['a checksum of another size', version2(0x21, 0x11, Buffer.concat([IPV4, field(3, Buffer.alloc(3))])), 'checksum'],
  ] as const) {
    test(`is refused: ${what}`, () => {
      const reading = readProxyHeader(bytes);
      assert.equal(reading.state === 'refused' ? reading.problem : reading.state, problem);
    });
  }

  const address = fc.oneof(
    fc.ipV4(),
    fc.ipV6().filter((text) => parseAddress(text) !== null && !text.includes('.')),
  );
  const port = fc.integer({ min: 0, max: 65_535 });

  test('is read back from every address and port, in both forms', () => {
    fc.assert(
      fc.property(address, port, fc.uint8Array({ maxLength: 200 }), (text, number, rest) => {
        const family = text.includes(':') ? 6 : 4;
        const parsed = parseAddress(text) ?? assert.fail(text);
        const bytes = Buffer.from(
          family === 6 && parsed.kind() === 'ipv4' ? MAPPED.subarray(0, 16) : parsed.toByteArray(),
        );
        if (bytes.length === 16 && parsed.kind() === 'ipv4') bytes.set(parsed.toByteArray(), 12);
        const ports = Buffer.alloc(4);
        ports.writeUInt16BE(number);
        const isWide = bytes.length === 16;
        const binary = version2(0x21, isWide ? 0x21 : 0x11, Buffer.concat([bytes, bytes, ports]));
        const textual = line(`PROXY TCP${family} ${text} ${text} ${number} 443`);
        for (const header of [binary, textual]) {
          const expected = {
            state: 'done',
            source: { address: parsed.toString(), port: number },
            length: header.length,
          };
          assert.deepEqual(readProxyHeader(Buffer.concat([header, rest])), expected);
        }
      }),
    );
  });

  test('decides about any bytes within the limits, the same however they are split', () => {
    const start = fc.constantFrom(Buffer.from('PROXY '), Buffer.from('PROXY TCP4 '), SIGNATURE, Buffer.alloc(0));
    const head = fc.constantFrom(Buffer.alloc(0), Buffer.from([0x21, 0x11, 0, 30]), Buffer.from([0x20, 0, 0, 9]));
    fc.assert(
      fc.property(start, head, fc.uint8Array({ maxLength: 700 }), (prefix, fixed, rest) => {
        const bytes = Buffer.concat([prefix, fixed, rest]);
        const whole = readProxyHeader(bytes);
        if (bytes.length >= 536) assert.notEqual(whole.state, 'more');
        let first: HeaderReading = MORE;
        for (let length = 0; length <= bytes.length && first.state === 'more'; length += 1) {
          first = readProxyHeader(bytes.subarray(0, length));
        }
        assert.deepEqual(first, whole);
      }),
    );
  });
});

suite('crc32c', () => {
  test('gives the check values of RFC 3720 appendix B.4', () => {
    assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
    assert.equal(crc32c(Buffer.alloc(32)), 0x8a9136aa);
    assert.equal(crc32c(Buffer.alloc(32, 0xff)), 0x62a8ab43);
  });
});
