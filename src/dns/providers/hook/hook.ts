import type { DnsProvider } from '../../dns-provider.ts';
import { textOption } from '../../provider-option.ts';

export const hook: DnsProvider = {
  name: 'hook',
  title: 'an executable',
  isHook: true,
  options: {
    path: textOption('Executable, called as for acme_dns_hook, which is the one for all other zones.', {
      isRequired: true,
    }),
  },
  load: async () => (await import('./hook-records.ts')).hookRecords,
};
