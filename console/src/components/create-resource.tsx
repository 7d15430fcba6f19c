import { useState } from 'preact/hooks';
import type { Document } from '../api/use-pages.ts';
import type { ResourceType } from '../schema/resource-types.ts';
import { EditDialog } from './edit/edit-dialog.tsx';
import type { FormValue } from './form/schema-form.tsx';
import { SecretOnce } from './secret-once.tsx';
import { toast } from './toast.tsx';

interface CreateResourceProps {
  readonly type: ResourceType;
  /** With parents filled in. */
  readonly path?: string;
  readonly initial?: FormValue;
  readonly onClose: () => void;
  readonly onCreated: (document: Document) => void;
}

/** Fields that only the answer to a create has. */
const SHOWN_ONCE = ['token', 'url'];

export function CreateResource({ type, path, initial, onClose, onCreated }: CreateResourceProps) {
  const [created, setCreated] = useState<{ document: Document; secret: string } | null>(null);
  const { create } = type;
  if (create?.body === null || create?.body === undefined) return null;
  if (created !== null) {
    const close = (): void => {
      setCreated(null);
      onClose();
      onCreated(created.document);
    };
    return <SecretOnce title={`${type.title}: shown only now`} secret={created.secret} onClose={close} />;
  }
  return (
    <EditDialog
      title={create.summary}
      edited={{ method: 'POST', path: path ?? create.path, body: create.body, original: null, etag: null }}
      initial={initial ?? {}}
      without={type.modules.map(({ name }) => name)}
      onClose={onClose}
      onSaved={({ document }) => {
        toast(`${type.title} created.`);
        const secret = shownOnceIn(type, document);
        if (secret !== null) return setCreated({ document: withoutSecrets(document), secret });
        onClose();
        return onCreated(document);
      }}
    />
  );
}

function shownOnceIn(type: ResourceType, document: Document): string | null {
  for (const name of SHOWN_ONCE) {
    const value = document[name];
    const later = type.item.properties?.[name];
    const isLaterNull = later === undefined || later.anyOf?.some((each) => each.type === 'null') === true;
    if (typeof value === 'string' && value !== '' && isLaterNull) return value;
  }
  const webhook = (document['target'] as { webhook?: { secret?: unknown } } | undefined)?.webhook;
  return typeof webhook?.secret === 'string' && webhook.secret.startsWith('whsec_') ? webhook.secret : null;
}

function withoutSecrets(document: Document): Document {
  const { id, uri } = document;
  return { id, uri };
}
