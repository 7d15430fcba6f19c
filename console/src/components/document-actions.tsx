import { type Answer, request } from '../api/request.ts';
import { areAllowed } from '../api/scopes.ts';
import type { Document } from '../api/use-pages.ts';
import { write } from '../api/write.ts';
import { documentName } from '../schema/document-name.ts';
import type { ResourceType } from '../schema/resource-types.ts';
import { ConfirmButton } from './confirm-button.tsx';
import { EditButton } from './edit-button.tsx';

interface DocumentActionsProps {
  readonly type: ResourceType;
  readonly path: string;
  readonly answer: Answer<Document>;
  readonly consequence?: string;
  readonly onChange: () => void;
  readonly onDeleted: () => void;
}

/** Edit, delete and the resource's own actions, as far as the scopes allow them. */
export function DocumentActions({ type, path, answer, consequence, onChange, onDeleted }: DocumentActionsProps) {
  const { remove } = type;
  const name = documentName(answer.data).slice(0, 80);
  const actions = type.actions.filter((action) => action.body === null && areAllowed(action.scopes));
  return (
    <>
      {actions.map((action) => (
        <ConfirmButton
          key={action.path}
          name={actionName(action.path)}
          isDanger={false}
          question={`${action.summary}?`}
          done={`${actionName(action.path)}: done.`}
          act={() => request('POST', path + action.path.slice(action.path.lastIndexOf('/')))}
          onDone={onChange}
        >
          <p>{action.description || `This applies to ${name}.`}</p>
        </ConfirmButton>
      ))}
      <EditButton
        type={type}
        path={path}
        answer={answer}
        name={name}
        without={type.modules.map((module) => module.name)}
        done={`${type.title} saved.`}
        onChange={onChange}
      />
      {remove !== null && areAllowed(remove.scopes) && (
        <ConfirmButton
          name="Delete"
          question={`Delete ${name}?`}
          done={`${type.title} deleted.`}
          offersTrial={!type.isNeverRestored}
          act={(confirmWithin) => write({ method: 'DELETE', path, etag: answer.etag, confirmWithin })}
          onDone={onDeleted}
        >
          <p>{consequence ?? remove.description}</p>
          <p class="muted">
            {type.isNeverRestored
              ? 'It does not come back: this cannot be undone.'
              : 'Deleted configuration can be restored on the page Changes, as far as the history allows.'}
          </p>
        </ConfirmButton>
      )}
    </>
  );
}

function actionName(path: string): string {
  const verb = path.slice(path.lastIndexOf('/') + 1).replaceAll('_', ' ');
  return verb.charAt(0).toUpperCase() + verb.slice(1);
}
