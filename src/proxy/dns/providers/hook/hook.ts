import { type DnsProvider, textOption } from '../../dns-provider.ts';

export const hook: DnsProvider = {
  name: 'hook',
  title: 'an executable',
  isHook: true,
  options: {
    path: textOption(
      'Executable, called as HOOK present|cleanup FQDN VALUE. It must exit with 0 once the TXT record is visible. It runs without a shell and gets only PATH, HOME, USER, LANG, TZ and TMPDIR from the environment. The zone "*" stands for all zones that acme_dns does not name.',
      { isRequired: true },
    ),
  },
  load: async () => (await import('./hook-records.ts')).hookRecords,
};
