import { isAbsolute } from 'node:path';
import { cidrList, declared, hinted, text } from '../../kit/settings/setting.ts';

const path = hinted(
  'PATH|off',
  text('off, or an absolute path', (value) => value === 'off' || isAbsolute(value)),
);

/** Settings for lists of addresses, on each node. */
export const ipRestrictionSettings = {
  lists_dir: declared(path, {
    group: 'Client certificates and lists of addresses',
    default: 'off',
    description:
      'Directory below which IP policy lists may name files. A symbolic link that leads out of it is not followed. off: lists cannot use files. Every node needs the same files.',
  }),
  lists_allow_cidrs: declared(cidrList, {
    group: 'Client certificates and lists of addresses',
    default: [],
    description:
      'Loopback, private and other special-purpose address ranges from which IP policy lists may be fetched. They are blocked by default.',
  }),
  country_database: declared(path, {
    group: 'Client certificates and lists of addresses',
    default: 'off',
    description:
      'MMDB file with the countries of addresses, such as GeoLite2-Country.mmdb, for IP policy lists with countries. It is read when the first such list exists, and again when the file changes. Every node needs one.',
  }),
};
