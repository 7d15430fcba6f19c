import { DER, DerCursor } from './der-cursor.ts';

export interface NameFields {
  readonly commonName: string;
  readonly organization: string;
  readonly organizationalUnit: string;
  readonly locality: string;
  readonly province: string;
  readonly country: string;
}

/** Attribute types by the contents of their OID, in hex: RFC 5280 §4.1.2.4. */
const FIELDS: ReadonlyMap<string, keyof NameFields> = new Map([
  ['550403', 'commonName'],
  ['550406', 'country'],
  ['550407', 'locality'],
  ['550408', 'province'],
  ['55040a', 'organization'],
  ['55040b', 'organizationalUnit'],
]);

const STRING = { utf8: 0x0c, numeric: 0x12, printable: 0x13, teletex: 0x14, ia5: 0x16, universal: 0x1c, bmp: 0x1e };

/** The first value of each field. */
export function nameFields(name: Buffer): NameFields {
  const found: { -readonly [Field in keyof NameFields]?: string } = {};
  const parts = new DerCursor(name).read(DER.sequence).inside();
  while (!parts.isAtEnd) {
    const attributes = parts.read(DER.set).inside();
    while (!attributes.isAtEnd) {
      const attribute = attributes.read(DER.sequence).inside();
      const field = FIELDS.get(attribute.read(DER.oid).contents.toString('hex'));
      if (field !== undefined) found[field] ??= textOf(attribute.read(attribute.nextTag));
    }
  }
  const { commonName = '', organization = '', organizationalUnit = '', locality = '' } = found;
  return {
    commonName,
    organization,
    organizationalUnit,
    locality,
    province: found.province ?? '',
    country: found.country ?? '',
  };
}

/** X.520 DirectoryString, and the types that other attributes have. */
function textOf({ tag, contents }: DerCursor): string {
  switch (tag) {
    case STRING.utf8:
      return contents.toString('utf8');
    case STRING.printable:
    case STRING.numeric:
    case STRING.ia5:
    case STRING.teletex:
      return contents.toString('latin1');
    case STRING.bmp:
      return contents.length % 2 === 0 ? Buffer.from(contents).swap16().toString('utf16le') : '';
    case STRING.universal:
      return universal(contents);
    default:
      return '';
  }
}

/** Four bytes for each character. */
function universal(contents: Buffer): string {
  let text = '';
  for (let at = 0; at + 4 <= contents.length; at += 4) {
    const point = contents.readUInt32BE(at);
    text += point <= 0x10_ff_ff ? String.fromCodePoint(point) : '\ufffd';
  }
  return text;
}
