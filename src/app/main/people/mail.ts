import type { Logger } from 'pino';
import { MailQueue, MailSender } from '../../../control/identity/mail.ts';
import { smtpSender } from '../../../control/identity/smtp.ts';
import type { Clock } from '../../../kit/clock.ts';
import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Store } from '../../../store/store.ts';
import type { Membership } from '../../../tunnel/nodes/membership/membership.ts';
import type { Config } from '../../settings/schema.ts';

export interface OpenedMail {
  readonly queue: MailQueue;
  close(): Promise<void>;
}

interface MailDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly membership: Pick<Membership, 'setProblem'>;
}

/** Null: the settings have no mail server. */
export function openMail({ config, membership, ...ports }: MailDependencies): OpenedMail | null {
  const { smtp_url: url, mail_from: from } = config;
  // Both settings are set together: see checkTogether.
  if (url === null || from === null) return null;
  const ksuid = createKsuidSource();
  const newId = (prefix: string): string => `${prefix}_${ksuid(ports.clock.nowMs())}`;
  const sender = new MailSender({
    ...{ ...ports, send: smtpSender({ url, from }) },
    setProblem: (problem) => membership.setProblem('mail', problem),
  });
  return { queue: new MailQueue({ ...ports, newId }), close: () => sender.close() };
}
