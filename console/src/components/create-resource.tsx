import { useState } from 'preact/hooks';
import type { Document } from '../api/use-pages.ts';
import type { ResourceType } from '../schema/resource-types.ts';
import { EditDialog } from './edit/edit-dialog.tsx';
import type { FormValue } from './form/schema-form.tsx';
import { SecretOnce } from './secret-once.tsx';
import { type ShownOnce, shownOnceIn } from './shown-once.tsx';
import { toast } from './toast.tsx';

export interface CreateForm {
  /** Of the button and the dialog. */
  readonly name?: string;
  /** Fields that a new one does not have. */
  readonly without?: readonly string[];
  /** What creating it will do. Absent: the review shows its fields. */
  readonly sentences?: (value: FormValue) => readonly string[];
}

interface CreateResourceProps {
  readonly type: ResourceType;
  /** With parents filled in. */
  readonly path?: string;
  readonly initial?: FormValue;
  readonly form?: CreateForm;
  readonly onClose: () => void;
  readonly onCreated: (document: Document) => void;
}

export function CreateResource({ type, path, initial, form = {}, onClose, onCreated }: CreateResourceProps) {
  const [created, setCreated] = useState<{ document: Document; shown: ShownOnce } | null>(null);
  const { create } = type;
  if (create?.body === null || create?.body === undefined) return null;
  if (created !== null) {
    const close = (): void => {
      setCreated(null);
      onClose();
      onCreated(created.document);
    };
    const { shown } = created;
    return <SecretOnce title={shown.title ?? `${type.title}: shown only now`} shown={shown} onClose={close} />;
  }
  return (
    <EditDialog
      title={form.name ?? create.summary}
      edited={{ method: 'POST', path: path ?? create.path, body: create.body, original: null, etag: null }}
      initial={initial ?? {}}
      sentences={form.sentences}
      without={[...type.modules.map(({ name }) => name), ...(form.without ?? [])]}
      onClose={onClose}
      onSaved={({ document }) => {
        toast(`${type.title} created.`);
        const shown = shownOnceIn(type, document);
        if (shown !== null) return setCreated({ document: withoutSecrets(document), shown });
        onClose();
        return onCreated(document);
      }}
    />
  );
}

function withoutSecrets(document: Document): Document {
  const { id, uri } = document;
  return { id, uri };
}
