import type { ComponentChildren } from 'preact';
import type { Document } from '../api/use-pages.ts';
import { textAt } from '../format/text.ts';
import { canBeNull } from '../schema/json-schema.ts';
import type { ResourceType } from '../schema/resource-types.ts';

/** What only one answer of the API has, and what to do with it. */
export interface ShownOnce {
  readonly secret: string;
  readonly explanation: ComponentChildren;
  readonly title?: string;
  /** Name of the button that closes it. */
  readonly done?: string;
}

/** By field of the answer to a create. */
const FIELDS: Readonly<Record<string, (secret: string, document: Document) => ShownOnce>> = {
  token: storeIt,
  url: storeIt,
  client_secret: (secret, document) => ({
    secret,
    explanation: (
      <>
        <p>
          Give the application this client secret, and the client ID <code>{textAt(document, 'client_id')}</code>.
        </p>
        <p>The server keeps only a hash of the secret, so it is not shown again.</p>
      </>
    ),
  }),
  invitation_url: invitationShown,
  invitation: (line) => ({
    title: 'Agent invitation: shown only now',
    secret: `postern agent join ${line}`,
    explanation: (
      <p>
        Run this on the machine of the agent within ten minutes. It works once, and is not shown again. Anybody who has
        the line can use it, so give it to nobody else.
      </p>
    ),
    done: 'Done',
  }),
};

export function shownOnceIn(type: ResourceType, document: Document): ShownOnce | null {
  for (const [name, show] of Object.entries(FIELDS)) {
    const value = document[name];
    const later = type.item.properties?.[name];
    const isLaterNull = later === undefined || canBeNull(later);
    if (typeof value === 'string' && value !== '' && isLaterNull) return show(value, document);
  }
  const webhook = (document['target'] as { webhook?: { secret?: unknown } } | undefined)?.webhook;
  const secret = webhook?.secret;
  return typeof secret === 'string' && secret.startsWith('whsec_') ? signingSecret(secret) : null;
}

/** The link of an invitation, from the answer that has it. */
export function invitationShown(link: string, answer: Document): ShownOnce {
  const address = textAt(answer, 'invitation_sent_to');
  return {
    title: 'Invitation link: shown only now',
    secret: link,
    explanation: (
      <>
        <p>
          {address === ''
            ? 'Give the person this link. No mail is sent.'
            : `A mail with this link is on its way to ${address}. You can also give the person the link yourself.`}
        </p>
        <p>
          With it, the person registers a passkey. It works once, and is not shown again. Anybody who has the link can
          use it, so send it to nobody else.
        </p>
      </>
    ),
    done: 'Done',
  };
}

function storeIt(secret: string): ShownOnce {
  return {
    secret,
    explanation: <p>Store it now. The server keeps only a hash of it, so it is not shown again.</p>,
  };
}

function signingSecret(secret: string): ShownOnce {
  return {
    title: 'Signing secret: shown only now',
    secret,
    explanation: (
      <p>
        The server signs every event with this secret. Give it to the receiver, if the receiver checks signatures
        (Standard Webhooks). It is not shown again.
      </p>
    ),
    done: 'Done',
  };
}
