import type { AgentForm } from '../contract/agent-form.ts';

export const compressionAgentForm: AgentForm = {
  order: 4,
  key: 'compression',
  shape: 'switch',
  protocols: ['https', 'http'],
  fields: [],
  flag: { name: 'compression', hint: '', description: 'Compress responses that are not compressed.' },
  summary: ['compression'],
};
