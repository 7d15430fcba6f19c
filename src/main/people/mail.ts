import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import { MailQueue, MailSender } from '../../identity/mail.ts';
import { smtpSender } from '../../identity/smtp.ts';
import type { Clock } from '../../lib/clock.ts';
import { createKsuidSource } from '../../lib/text/ksuid.ts';
import type { Membership } from '../../nodes/membership/membership.ts';
import type { Replica } from '../../replica/replica.ts';
import type { Store } from '../../store/store.ts';

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
  // They are set together: see checkTogether.
  if (url === null || from === null) return null;
  const ksuid = createKsuidSource();
  const newId = (prefix: string): string => `${prefix}_${ksuid(ports.clock.nowMs())}`;
  const sender = new MailSender({
    ...{ ...ports, send: smtpSender({ url, from }) },
    setProblem: (text) => membership.setProblem('mail', text),
  });
  return { queue: new MailQueue({ ...ports, newId }), close: () => sender.close() };
}
