import type { AgentForm } from '../contract/agent-form.ts';

export const requestHeadersAgentForm: AgentForm = {
  order: 6,
  key: 'request_header',
  shape: 'map',
  protocols: ['https', 'http'],
  fields: [
    {
      name: 'add',
      example: '["x-name: value"]',
      isRepeated: true,
      flag: { name: 'request-header-add', hint: 'NAME: VALUE', description: 'Add this header to requests.' },
    },
    {
      name: 'remove',
      example: '["x-name"]',
      flag: { name: 'request-header-remove', hint: 'NAME', description: 'Remove this header from requests.' },
    },
  ],
  whenEmpty: 'request_header has no headers: write add or remove, or remove it',
  summary: ['add {add}', 'remove {remove}'],
};
