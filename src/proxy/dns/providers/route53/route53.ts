import { type DnsProvider, secretOption, textOption, urlOption } from '../../dns-provider.ts';

export const route53: DnsProvider = {
  name: 'route53',
  title: 'Amazon Route 53',
  isHook: false,
  options: {
    access_key_id: secretOption('Access key id of an IAM user.'),
    secret_access_key: secretOption('Secret access key of the user.'),
    session_token: secretOption('Session token of temporary credentials.', false),
    hosted_zone_id: textOption(
      'Id of the hosted zone. Unset: the public hosted zone with the name of the zone is used.',
      {
        accepts: (value) => /^[A-Z0-9]{1,32}$/.test(value),
      },
    ),
    region: textOption('Region that requests are signed for. Unset: us-east-1.', {
      accepts: (value) => /^[a-z0-9-]{1,32}$/.test(value),
    }),
    url: urlOption('Base URL of the API. Unset: https://route53.amazonaws.com.'),
  },
  load: async () => (await import('./route53-records.ts')).route53Records,
};
