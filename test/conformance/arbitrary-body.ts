import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { resources } from '../../src/control/resources/registry.ts';
import { referenceAnnotation } from '../../src/kit/schema/annotations.ts';
import { catalog, type FurnishedWorld } from './furnished-world.ts';
import type { FieldSchema } from './wrong-values.ts';

type Body = Record<string, unknown>;

/** Text that programs often handle wrongly. */
const oddText = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '\u0000',
      'a\u0000b',
      '\ud800',
      '\udc00a',
      'a\ud83d',
      '\ufeff',
      '\ufffe\uffff',
      'a\u2028b\u2029',
      '\r\n',
      '"\\',
      '../..',
      '%00',
      'null',
      'true',
      '-0',
      '1e400',
      '__proto__',
      'constructor',
      '😀'.repeat(127),
      'e\u0301'.repeat(60),
      '<script>',
      '********',
      'x'.repeat(255),
      'x'.repeat(256),
      'ä'.repeat(2048),
      'x'.repeat(5000),
    ),
  },
);

const oddValue = fc.oneof(
  oddText,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, -1, 1.5, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53, 1e308, 5e-324, null, true, false, [], {}),
  fc.array(oddText, { maxLength: 3 }),
  fc.dictionary(oddText, oddText, { maxKeys: 3 }),
  fc.jsonValue({ maxDepth: 2 }),
);

/** A host can be used once: each gets its own name, and the same seed gives the same names. */
let names = 0;
function nextName(): string {
  names += 1;
  return `n${names}`;
}

const label = fc.stringMatching(/^[A-Za-z0-9]([A-Za-z0-9-]{0,10}[A-Za-z0-9])?$/);
const hostName = fc
  .tuple(fc.constantFrom('', '', '*.'), fc.array(label, { minLength: 1, maxLength: 3 }))
  .map(([wildcard, labels]) => `${wildcard}${labels.join('.')}.${nextName()}.example`);
const pathText = fc
  .array(fc.stringMatching(/^([A-Za-z0-9._~!$&'()*+,;=:@-]|%[2-7][0-9A-Fa-f]){1,8}$/), { maxLength: 4 })
  .map((segments) => `/${segments.join('/')}`);

/** Text that is plausible for the resource, by the field's name. */
const SENSIBLE: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  hostports: fc.array(
    fc.tuple(hostName, fc.constantFrom('443', '7443')).map((parts) => parts.join(':')),
    { maxLength: 4 },
  ),
  match: pathText,
  domain: hostName,
  issuer: fc.oneof(
    fc.webUrl({ validSchemes: ['https'] }),
    fc.constantFrom('http://localhost:8080/x', 'https://EXAMPLE.com/A%20b', 'https://example.com:443/'),
  ),
  url: fc.webUrl({ validSchemes: ['https', 'http'], withQueryParameters: true }),
  address: fc.oneof(
    fc.tuple(fc.ipV4(), fc.integer({ min: 1, max: 65_535 })).map(([host, port]) => `${host}:${port}`),
    fc.tuple(fc.ipV6(), fc.integer({ min: 1, max: 65_535 })).map(([host, port]) => `[${host}]:${port}`),
    fc.constant('Upstream.Example.com:80'),
  ),
  cidr: fc.oneof(
    fc.ipV4().map((address) => `${address}/32`),
    fc.ipV6().map((address) => `${address}/128`),
    fc.constantFrom('0.0.0.0/0', '::/0', '2001:DB8::/32', '10.0.0.0/8', '::ffff:10.0.0.0/104'),
  ),
  acl: fc.array(
    fc.oneof(
      hostName.map((host) => `bind:${host}`),
      fc.tuple(label, label).map(([name, value]) => `bind:${name}=${value}`),
      fc.constant('bind:*'),
    ),
    { maxLength: 4 },
  ),
  sources: fc
    .subarray(
      catalog.eventTypes.map(({ type }) => ({ type })),
      { maxLength: 4 },
    )
    .map((sources) => [...sources].reverse()),
  type: fc.constantFrom(...catalog.eventTypes.map(({ type }) => type)),
  since: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString()),
  until: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01t00:00:00.123456789+14:00', '2026-12-31T23:59:60Z'),
  secret: fc.base64String({ minLength: 32, maxLength: 64 }).map((text) => `whsec_${text}`),
};

/** Bodies that mostly match the schema, and some that nearly do. */
export function arbitraryBody(schema: FieldSchema, furnished: FurnishedWorld): fc.Arbitrary<Body> {
  const sensible = objectOf(schema, furnished);
  const names = Object.keys(schema.properties ?? {});
  const spoilt = fc
    .tuple(sensible, fc.oneof(fc.constantFrom('unknown', ...names), oddText), oddValue)
    .map(([body, name, value]) => ({ ...body, [name]: value }));
  return fc.oneof({ weight: 4, arbitrary: sensible }, { weight: 1, arbitrary: spoilt });
}

function objectOf(schema: FieldSchema, furnished: FurnishedWorld): fc.Arbitrary<Body> {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    name,
    fieldValue(name, field, furnished),
  ]);
  return fc.record(Object.fromEntries(fields), {
    requiredKeys: [...(schema.required ?? [])],
    noNullPrototype: true,
  }) as fc.Arbitrary<Body>;
}

function fieldValue(name: string, schema: FieldSchema, furnished: FurnishedWorld): fc.Arbitrary<unknown> {
  const own = sensibleValue(name, schema, furnished);
  // A value that counts as absent must be harmless where the field may be absent.
  return schema.default === undefined
    ? fc.oneof({ weight: 12, arbitrary: own }, { weight: 1, arbitrary: oddValue })
    : fc.oneof(
        { weight: 12, arbitrary: own },
        { weight: 1, arbitrary: oddValue },
        { weight: 1, arbitrary: fc.constant(null) },
      );
}

function sensibleValue(name: string, schema: FieldSchema, furnished: FurnishedWorld): fc.Arbitrary<unknown> {
  const reference = referenceAnnotation(schema as TSchema);
  if (reference !== undefined) return idsOf(schema, reference.kinds, furnished);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (name === 'ca_pem')
    return fc.constantFrom(furnished.authority.certificatePem, `note\n${furnished.authority.certificatePem}`);
  if (name === 'certificate_pem') return fc.constant(furnished.server.certificatePem);
  if (name === 'private_key_pem') return fc.constant(furnished.server.keyPem);
  if (name === 'certificate_file' || name === 'private_key_file') return fc.constant('');
  if (name === 'previous_secret') return SENSIBLE['secret'] as fc.Arbitrary<unknown>;
  if (name === 'scopes' && schema.maxItems !== undefined && schema.items?.pattern === undefined)
    return fc.subarray([...catalog.scopes], { minLength: 1, maxLength: 4 });
  if (name === 'headers')
    return fc.dictionary(
      label.map((text) => `x-${text}`),
      fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/),
      { maxKeys: 4 },
    );
  if (SENSIBLE[name] !== undefined) return SENSIBLE[name];
  if (name === 'target') return targetOf(schema, furnished);
  if (schema.properties !== undefined) return objectOf(schema, furnished);
  if (schema.patternProperties !== undefined) return mapOf(schema);
  if (schema.type === 'array') {
    const item = fieldValue(`${name} item`, { ...(schema.items ?? {}), default: undefined as never }, furnished);
    return fc.array(item, { maxLength: Math.min(schema.maxItems ?? 4, 4) });
  }
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer') {
    const { minimum: min = 0, maximum: max = 2 ** 32 - 1 } = schema;
    return fc.oneof(fc.integer({ min, max: Math.min(max, 2 ** 31 - 1) }), fc.constantFrom(min, max, -0));
  }
  if (schema.pattern !== undefined)
    return fc.stringMatching(new RegExp(schema.pattern), { maxLength: schema.maxLength ?? 100 });
  return oddText;
}

/** Usually exactly one kind of destination. */
function targetOf(schema: FieldSchema, furnished: FurnishedWorld): fc.Arbitrary<unknown> {
  const kinds = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    objectOf(field, furnished).map((config) => ({ [name]: config })),
  );
  return fc.oneof(...kinds);
}

function mapOf(schema: FieldSchema): fc.Arbitrary<unknown> {
  const name = fc.oneof(
    label,
    oddText.filter((text) => text !== '__proto__'),
  );
  const value = fc.oneof({ weight: 5, arbitrary: label }, { weight: 1, arbitrary: oddText });
  return fc.dictionary(name, value, { minKeys: schema.minProperties ?? 0, maxKeys: 4, noNullPrototype: true });
}

function idsOf(schema: FieldSchema, kinds: readonly string[], furnished: FurnishedWorld): fc.Arbitrary<unknown> {
  const known = kinds
    .map((kind) => resources.find((each) => each.kind === kind)?.idPrefix ?? '')
    .map((prefix) => furnished.id(prefix));
  const some = fc.subarray(known, { minLength: 1 });
  if (schema.patternProperties !== undefined)
    return fc
      .tuple(some, fc.integer({ min: 1, max: 10_000 }))
      .map(([ids, weight]) => Object.fromEntries(ids.map((id) => [id, weight])));
  return schema.type === 'array' ? some : fc.constantFrom(...known);
}
