import ipaddr from 'ipaddr.js';

/** A network and its country; null: the record has no country. */
export type CountryNetwork = readonly [cidr: string, country: string | null];

type Node = [Child, Child];
type Child = Node | number | null;

const RECORD_BYTES = 3;
const SEPARATOR = Buffer.alloc(16);
const MARKER = Buffer.concat([Buffer.from([0xab, 0xcd, 0xef]), Buffer.from('MaxMind.com')]);

/** A small database of countries in the format of MaxMind (version 2.0): IPv6 with IPv4 inside, 24 bits per record. */
export function mmdbFile(networks: readonly CountryNetwork[]): Buffer {
  const data: Buffer[] = [];
  const root: Node = [null, null];
  for (const [cidr, country] of networks) {
    const offset = Buffer.concat(data).length;
    data.push(
      country === null
        ? map({ continent: map({ code: text('EU') }) })
        : map({ country: map({ iso_code: text(country) }) }),
    );
    insert(root, bitsOf(cidr), offset);
  }
  const nodes: Node[] = [];
  collect(root, nodes);
  const tree = Buffer.alloc(nodes.length * 2 * RECORD_BYTES);
  for (const [at, node] of nodes.entries()) {
    for (const [side, child] of node.entries()) {
      const value =
        child === null
          ? nodes.length
          : typeof child === 'number'
            ? nodes.length + SEPARATOR.length + child
            : nodes.indexOf(child);
      tree.writeUIntBE(value, (2 * at + side) * RECORD_BYTES, RECORD_BYTES);
    }
  }
  const metadata = map({
    node_count: number(6, nodes.length),
    record_size: number(5, 8 * RECORD_BYTES),
    ip_version: number(5, 6),
    database_type: text('Test-Country'),
    languages: Buffer.from([0x00, 0x04]),
    binary_format_major_version: number(5, 2),
    binary_format_minor_version: number(5, 0),
    build_epoch: Buffer.from([0x04, 0x02, 0x60, 0, 0, 0]),
    description: map({ en: text('test') }),
  });
  return Buffer.concat([tree, SEPARATOR, ...data, MARKER, metadata]);
}

/** Path in a tree of IPv6: IPv4 is below `::/96`. */
function bitsOf(cidr: string): string {
  const [address, length] = ipaddr.parseCIDR(cidr);
  const bits = address
    .toByteArray()
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('');
  return (address.kind() === 'ipv4' ? '0'.repeat(96) : '') + bits.slice(0, length);
}

function insert(root: Node, bits: string, offset: number): void {
  let node = root;
  for (const bit of bits.slice(0, -1)) {
    const side = Number(bit);
    if (!Array.isArray(node[side])) node[side] = [node[side] ?? null, node[side] ?? null];
    node = node[side] as Node;
  }
  node[Number(bits.at(-1))] = offset;
}

function collect(node: Node, nodes: Node[]): void {
  nodes.push(node);
  for (const child of node) if (Array.isArray(child)) collect(child, nodes);
}

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([0x40 | value.length]), Buffer.from(value)]);
}

function number(type: number, value: number): Buffer {
  const bytes = Buffer.alloc(type === 5 ? 2 : 4);
  bytes.writeUIntBE(value, 0, bytes.length);
  return Buffer.concat([Buffer.from([(type << 5) | bytes.length]), bytes]);
}

function map(fields: Readonly<Record<string, Buffer>>): Buffer {
  const entries = Object.entries(fields);
  return Buffer.concat([
    Buffer.from([0xe0 | entries.length]),
    ...entries.flatMap(([name, value]) => [text(name), value]),
  ]);
}
