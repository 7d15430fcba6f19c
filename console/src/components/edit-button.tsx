import { useState } from 'preact/hooks';
import type { Answer } from '../api/request.ts';
import { areAllowed } from '../api/scopes.ts';
import type { Document } from '../api/use-pages.ts';
import type { ResourceType } from '../schema/resource-types.ts';
import { writeForm } from '../schema/write-form.ts';
import { EditDialog } from './edit/edit-dialog.tsx';
import { toast } from './toast.tsx';

interface EditButtonProps {
  readonly type: ResourceType;
  readonly path: string;
  readonly answer: Answer<Document>;
  /** What people call the document. */
  readonly name: string;
  /** Fields that are edited elsewhere. */
  readonly without: readonly string[];
  readonly done: string;
  readonly onChange: () => void;
}

/** Opens the form of a document; nothing without the scope. */
export function EditButton({ type, path, answer, name, without, done, onChange }: EditButtonProps) {
  const [isEditing, setEditing] = useState(false);
  const { update } = type;
  if (update?.body == null || !areAllowed(update.scopes)) return null;
  const fields = Object.entries(writeForm(answer.data, update.body)).filter(([field]) => !without.includes(field));
  return (
    <>
      <button type="button" onClick={() => setEditing(true)}>
        Edit
      </button>
      {isEditing && (
        <EditDialog
          title={`Edit ${name}`}
          edited={{
            method: 'PATCH',
            path,
            body: update.body,
            original: Object.fromEntries(fields),
            etag: answer.etag,
          }}
          without={without}
          onClose={() => setEditing(false)}
          onSaved={() => {
            setEditing(false);
            toast(done);
            onChange();
          }}
        />
      )}
    </>
  );
}
