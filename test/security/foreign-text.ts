import Type from 'typebox';
import { certificateBlocks } from '../../src/app/cli/agent/tunnel-specs.ts';
import { problemText } from '../../src/app/cli/problem-text.ts';
import { parseIfMatch } from '../../src/control/api/request-parts.ts';
import { readPath } from '../../src/kit/http/canonical-path.ts';
import { chooseCoding } from '../../src/kit/http/content-coding.ts';
import { cookieValues, markedCookies } from '../../src/kit/http/cookie-header.ts';
import { headerText } from '../../src/kit/http/header-values.ts';
import { matchKey, parseHttpUrl } from '../../src/kit/http/urls.ts';
import { chunkSize } from '../../src/kit/http1/chunked-body.ts';
import { Http1HeaderBlock } from '../../src/kit/http1/header-block.ts';
import { headerObject } from '../../src/kit/http2/heads.ts';
import type { JsonObject } from '../../src/kit/json.ts';
import { cidrProblem } from '../../src/kit/net/cidr.ts';
import { hostNameProblem } from '../../src/kit/net/host-name.ts';
import { parseListenAddress, parsePortRange } from '../../src/kit/net/listen-address.ts';
import { certificatesIn } from '../../src/kit/pki/describe-certificate.ts';
import { mapOf } from '../../src/kit/schema/annotations.ts';
import { createDecoder } from '../../src/kit/schema/decode-body.ts';
import { didYouMean } from '../../src/kit/text/near-match.ts';
import { requestedTag, weakened, withVary } from '../../src/modules/compression/compression.ts';
import { readFacts } from '../../src/modules/compression/eligibility.ts';
import { boundedClaims } from '../../src/modules/login/claims.ts';
import { safeTarget } from '../../src/modules/login/flow/return-target.ts';
import { issuerProblem } from '../../src/modules/login/issuer-problem.ts';
import { foreignText } from '../../src/modules/login/provider/login-problem.ts';
import { ClientAddresses } from '../../src/proxy/edge/connections/connection-facts.ts';
import { setsOwnCookie, withoutOwnCookies } from '../../src/proxy/edge/forwarding/forwarded-request.ts';
import { Http1RequestStart } from '../../src/proxy/edge/http/http1-request.ts';
import { DroppedHeaders, type RawHead, readHead } from '../../src/proxy/edge/http/request-head.ts';
import { HelloReader } from '../../src/proxy/edge/tls/client-hello.ts';
import { readingsOf } from '../../src/proxy/snapshot/path-readings.ts';
import { AccessGuard, RouteTable } from '../../src/proxy/snapshot/route-table.ts';
import { statusLineEnd } from '../../src/proxy/upstream/http1-response-parser.ts';
import { http2ResponseHeaders } from '../../src/proxy/upstream/request-headers.ts';
import { maskedValue } from '../../src/tunnel/agent/inspector/sensitive-headers.ts';
import { decodeAgentMessage } from '../../src/tunnel/protocol/messages.ts';
import { hostilePem } from '../support/hostile-pem.ts';

/** A parser of foreign text, with texts that may cost it more than their length. */
export interface ForeignTextReader {
  readonly name: string;
  /** Maximum length that it accepts. */
  readonly maxLength: number;
  /** Only the call of the result is measured. */
  readonly prepare: (text: string) => () => unknown;
  /** Each generates about this many characters. */
  readonly texts: Readonly<Record<string, (length: number) => string>>;
}

const HEAD_BYTES = 32_768;
/** A quarter of the maximum body: above that the runtime's own objects dominate. */
const BODY_BYTES = 262_144;

/** `unit` repeated, between a start and an end. */
const filled =
  (unit: string, start = '', end = '') =>
  (length: number): string =>
    start + unit.repeat(Math.ceil(length / unit.length)) + end;
/** Different names, each created by `unit`. */
const numbered =
  (unit: (at: number) => string) =>
  (length: number): string => {
    const count = Math.floor(length / unit(10_000).length);
    return Array.from({ length: count }, (_, at) => unit(at + 10_000)).join('');
  };

const BLANKS = {
  'spaces before a character': filled(' ', 'gzip', 'x'),
  'tabs before a character': filled('\t', 'gzip;', 'x'),
  'spaces between commas': filled(' ,'),
  commas: filled(','),
  semicolons: filled(';', 'a'),
  quotes: filled('"', '"'),
  'weak tags': filled('W/"a",'),
  'an open quote': filled('\\"', 'W/"'),
};
const PATHS = {
  slashes: filled('/'),
  dots: filled('.', '/', 'x'),
  'dots and slashes': filled('./', '/'),
  'steps up': filled('../', '/'),
  'nested escapes': filled('25', '/%', '41'),
  escapes: filled('%2e%2f', '/'),
  parameters: filled(';a=b', '/a'),
  'spaces in segments': filled('%20', '/', 'x'),
  'combining marks in the wrong order': (length: number) =>
    `/a${'%CC%81'.repeat(length / 12)}${'%CC%96'.repeat(length / 12)}`,
  'marks of two kinds in turn': filled('%CC%81%CC%96', '/a'),
  'marks in a path of many readings': filled('%CC%81%CC%96', '/%252541;x/b./'),
  'full-width letters': filled('%EF%BC%A1', '/'),
  'overlong bytes': filled('%c0%ae', '/'),
};
const COOKIES = {
  pairs: filled('a=b; '),
  'our mark': filled('a=pstn1.; '),
  'our name': filled('postern.session=; '),
  'names in a row': filled('postern.session='),
  spaces: filled(' ', '', 'postern.session=x'),
  'equals signs': filled('=', 'pstn1.'),
  ...BLANKS,
};

const rules = { dropped: new DroppedHeaders(['x-internal-*']), hostPorts: null };
const raw = (rawHeaders: readonly string[], target = '/'): RawHead => ({
  method: 'GET',
  target,
  httpVersion: 1,
  absoluteScheme: 'https',
  rawHeaders: ['host', 'a.example', ...rawHeaders],
  authority: null,
  protocol: null,
  hasUpgrade: false,
  isFromProxy: true,
});
const lines = (text: string): string[] => text.split('\n').flatMap((line) => line.split(': '));
const OPEN = { match: '/', matchType: 'path_prefix', access: '', pathReader: null } as const;
const guard = AccessGuard.over([
  OPEN,
  { match: '/admin', matchType: 'path_prefix', access: 'login', pathReader: null },
]);
const table = new RouteTable([OPEN, { match: '/a/b/', matchType: 'path_prefix', access: '', pathReader: null }]);

function oddMatch(text: string): unknown {
  const reading = readPath(`${text}//`);
  return reading.ok && table.match(reading.path, 'a.example');
}

const proxies = new ClientAddresses(['10.0.0.0/8']);

function forwardedFor(text: string): unknown {
  const reading = readHead(raw(['x-forwarded-for', text]), rules);
  return reading.ok && proxies.chain('10.0.0.1', reading.head);
}

const decoder = createDecoder(
  Type.Object({
    name: Type.String({ default: '' }),
    inner: Type.Object({ name: Type.String({ default: '' }) }, { default: {} }),
    list: Type.Array(Type.String(), { default: [], maxItems: 100 }),
    map: mapOf(Type.String(), { default: {}, maxProperties: 100 }),
  }),
);

/** A ClientHello in records of one byte each. */
function helloInPieces(text: string): unknown {
  const reader = new HelloReader();
  const piece = Buffer.from([22, 3, 1, 0, 1, 0]);
  const first = Buffer.from([22, 3, 1, 0, 4, 1, 0, 63, 0]);
  return reader.push(Buffer.concat([first, ...Array.from({ length: text.length / 6 }, () => piece)]));
}

export const FOREIGN_TEXT_READERS: readonly ForeignTextReader[] = [
  ...[certificatesIn, certificateBlocks].map((read) => ({
    name: read.name,
    maxLength: 262_144,
    prepare: (text: string) => () => refused(() => read(text)),
    texts: {
      'header lines': (length: number) => hostilePem(length / 7),
      'first lines': filled('-----BEGIN CERTIFICATE-----\n'),
      'blocks of nothing': filled('-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'),
      spaces: filled(' ', '-----BEGIN CERTIFICATE-----\n', 'x\n'),
      dashes: filled('-', '-----BEGIN '),
      base64: filled('AAAA\n', '-----BEGIN CERTIFICATE-----\n', '-----END CERTIFICATE-----\n'),
      elements: filled('BQAF\nAAUA\n', '-----BEGIN CERTIFICATE-----\n', '-----END CERTIFICATE-----\n'),
    },
  })),
  head('Accept-Encoding', chooseCoding, BLANKS),
  head('If-None-Match', (text) => requestedTag(['etag', '"a"'], text), BLANKS),
  head('If-Match', (text) => refused(() => parseIfMatch(text)), BLANKS),
  head('ETag', weakened, BLANKS),
  head('Vary', (text) => withVary(['vary', text]), { ...BLANKS, names: filled('accept-encoding ,') }),
  head('Cache-Control', (text) => readFacts(['cache-control', text, 'content-encoding', text]), {
    ...BLANKS,
    'no-transform': filled(' ', ', no-transform', 'x'),
  }),
  head('Cookie', (text) => [cookieValues([text], 'postern.session'), markedCookies([text], 'pstn1.')], COOKIES),
  head('Cookie, forwarded', (text) => withoutOwnCookies(['cookie', text]), COOKIES),
  head('Set-Cookie', (text) => setsOwnCookie(text, new Set()), COOKIES),
  head('TE and Connection', (text) => readHead(raw(['te', text, 'connection', text]), rules), {
    ...BLANKS,
    trailers: filled(' ', 'trailers', 'x'),
    'names after names': filled('trailers '),
  }),
  head('Connection with names, and headers', (text) => readHead(raw(lines(text)), rules), {
    'names and headers': (length) =>
      `connection: ${numbered((at) => `a${at},`)(length / 2)}x\n${numbered((at) => `b${at}: \n`)(length / 2)}`,
    'one name again': filled('a_b: \n'),
    'addresses in lines': filled('x-forwarded-for: 1.2.3.4\n'),
  }),
  head('X-Forwarded-For', forwardedFor, { ...BLANKS, proxies: filled('10.1.1.1, '), colons: filled(':') }),
  head('request target', (text) => readHead(raw([], text), rules), {
    ...PATHS,
    'absolute form': filled('a', 'https://'),
  }),
  head('path', readPath, PATHS),
  head('readings of a path', readingsOf, PATHS),
  head('path beside routes with other access rules', (text) => guard?.isAmbiguous(matchKey(text), OPEN), PATHS),
  head('odd path among several routes', oddMatch, {
    ...PATHS,
    'empty segments with names': filled('a//', '/'),
    'escaped backslashes': filled('%5Ca', '/'),
    'escaped line ends': filled('%0D%0A', '/a'),
    'segments of parameters': filled(';a/', '/'),
  }),
  head('return target', safeTarget, PATHS),
  head('headers of an upstream', (text) => new Http1HeaderBlock().parse(text, 0, text.length, 10_000), {
    'names and headers': (length) =>
      `connection: ${numbered((at) => `a${at},`)(length / 2)}x\r\n${numbered((at) => `b${at}:\r\n`)(length / 2)}`,
    'one name again': filled('a:\r\n'),
    spaces: filled(' ', 'a:', 'x\r\n'),
    'keep-alive': filled('timeout=,', 'keep-alive:', '\r\n'),
    challenges: filled(' ntlm', 'www-authenticate:', 'x\r\n'),
    'no colon': filled('a\r\n'),
  }),
  head('head of a request', (text) => new Http1RequestStart().parse(`GET / HTTP/1.1\r\n${text}\r\n`, 10_000), {
    options: numbered((at) => `connection: a${at},\r\n`),
    protocols: filled('upgrade: a\r\n'),
    spaces: filled(' ', 'a:', 'x\r\n'),
    'no colon': filled('a\r\n'),
  }),
  head('headers of an upstream over HTTP/2', (text) => [http2ResponseHeaders(lines(text)), headerObject(lines(text))], {
    'one name again': filled('a: b\n'),
    names: numbered((at) => `a${at}: b\n`),
  }),
  head('status line', (text) => statusLineEnd(`HTTP/1.1 200 ${text}`), BLANKS),
  head('chunk line', (text) => chunkSize(`${text}\r\n`), {
    extensions: filled(';a=b', '1', '"'),
    'quoted extension': filled('\\"', '1;a="'),
  }),
  head('ClientHello in records of a byte', helloInPieces, { pieces: filled(' ') }),
  head('masked header', (text) => [maskedValue('set-cookie', text), maskedValue('authorization', text)], COOKIES),
  head('list of addresses', (text) => [cidrProblem(text), parseListenAddress(text), parsePortRange(text)], {
    slashes: filled('/'),
    colons: filled(':'),
    digits: filled('1'),
    'digits and dots': filled('1.'),
    dashes: filled('1-'),
  }),
  head('host name', (text) => hostNameProblem(text, 'allowed'), { labels: filled('a.'), dashes: filled('-', 'a') }),
  { name: 'issuer', maxLength: 2048, prepare: (text) => () => issuerProblem(`https://${text}`, []), texts: PATHS },
  head('URL', (text) => parseHttpUrl(`https://a.example/${text}`), {
    ...PATHS,
    'slashes before a character': filled('/', '', 'x'),
  }),
  head('misspelled word', (text) => didYouMean(text, ['name', 'inner', 'list'.repeat(100)]), { letters: filled('n') }),
  head('text of a provider', (text) => [headerText(text), foreignText(text, ['secret'])], {
    spaces: filled(' ', 'a', 'x'),
    secrets: filled('secre'),
    surrogates: filled('\ud800a'),
  }),
  head('problem on the command line', (text) => problemText(new Error(text), [], {}), {
    spaces: filled(' ', 'a', 'x'),
    'spaces and lines': filled(' \n'),
  }),
  {
    name: 'control message',
    maxLength: 65_536,
    prepare: (text) => () => decodeAgentMessage(text),
    texts: {
      brackets: filled('[', '{"t":"hello","metadata":'),
      fields: numbered((at) => `{"t":"bind","a${at}":`),
    },
  },
  json('JSON body', (body) => decoder.decode(body), {
    'unknown fields': (length) => `{${numbered((at) => `"a${at}":1,`)(length)}"a":1}`,
    'unknown fields inside': (length) => `{"inner":{${numbered((at) => `"a${at}":1,`)(length)}"a":1}}`,
    'names of a map': (length) => `{"map":{${numbered((at) => `"a${at}":1,`)(length)}"a":1}}`,
    items: (length) => `{"list":[${'1,'.repeat(length / 2)}1]}`,
    brackets: (length) => `{"list":${'['.repeat(length / 2)}${']'.repeat(length / 2)}}`,
    slashes: (length) => `{"${'~/'.repeat(length / 2)}":1}`,
  }),
  json('claims', (claims) => boundedClaims(claims, 65_536), {
    names: (length) => `{${numbered((at) => `"a${at}":1,`)(length)}"a":1}`,
  }),
];

function head(name: string, read: (text: string) => unknown, texts: ForeignTextReader['texts']): ForeignTextReader {
  return { name, maxLength: HEAD_BYTES, prepare: (text) => () => read(text), texts };
}

function json(
  name: string,
  read: (value: JsonObject) => unknown,
  texts: ForeignTextReader['texts'],
): ForeignTextReader {
  const prepare = (text: string) => {
    const value = JSON.parse(text) as JsonObject;
    return () => read(value);
  };
  return { name, maxLength: BODY_BYTES, prepare, texts };
}

function refused(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error;
  }
}
