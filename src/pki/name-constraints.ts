// @peculiar/x509 requires this before it is loaded.
import 'reflect-metadata';
import { Extension } from '@peculiar/x509';

const NAME_CONSTRAINTS_OID = '2.5.29.30';
const SEQUENCE = 0x30;
const PERMITTED_SUBTREES = 0xa0;
const EXCLUDED_SUBTREES = 0xa1;
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;
/** Address and mask of zeros: every IPv4 address, every IPv6 address. */
const ALL_IPV4 = Buffer.alloc(8);
const ALL_IPV6 = Buffer.alloc(32);

/**
 * RFC 5280 §4.2.1.10, for which the X.509 library has no class: only names under `domain`, and no IP address at all.
 * The exclusion matters: a name form that no constraint mentions is unrestricted.
 */
export function onlyDomain(domain: string): Extension {
  const permitted = der(PERMITTED_SUBTREES, subtree(DNS_NAME, Buffer.from(domain, 'ascii')));
  const excluded = der(EXCLUDED_SUBTREES, subtree(IP_ADDRESS, ALL_IPV4), subtree(IP_ADDRESS, ALL_IPV6));
  return new Extension(NAME_CONSTRAINTS_OID, true, new Uint8Array(der(SEQUENCE, permitted, excluded)));
}

function subtree(tag: number, value: Buffer): Buffer {
  return der(SEQUENCE, der(tag, value));
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  // A domain name has at most 253 bytes, so a length never needs more than two bytes.
  const length =
    content.length < 0x80
      ? [content.length]
      : content.length < 0x100
        ? [0x81, content.length]
        : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
