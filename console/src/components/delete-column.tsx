import { request } from '../api/request.ts';
import { areAllowed } from '../api/scopes.ts';
import type { Document } from '../api/use-pages.ts';
import { documentName } from '../schema/document-name.ts';
import { itemPath } from '../schema/paths.ts';
import type { ResourceType } from '../schema/resource-types.ts';
import { ConfirmButton } from './confirm-button.tsx';
import type { Column } from './data-table.tsx';

/** A button per row, such as "Revoke"; no column without the scope. */
export function deleteColumn(type: ResourceType, name: string, reload: () => void): readonly Column<Document>[] {
  const { remove } = type;
  if (remove === null || !areAllowed(remove.scopes)) return [];
  return [
    {
      name: 'Action',
      class: 'col-button',
      cell: (row) => {
        const subject = documentName(row).slice(0, 80);
        return (
          <ConfirmButton
            name={name}
            label={`${name} ${subject}`}
            isSmall
            question={`${name} ${subject}?`}
            done={`${type.title}: done.`}
            act={() => request('DELETE', itemPath(type, row) ?? '')}
            onDone={reload}
          >
            <p>{remove.description || `${remove.summary}.`}</p>
          </ConfirmButton>
        );
      },
    },
  ];
}
