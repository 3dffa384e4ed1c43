/** The servers that the Chat Completions wire can play. */
import type { ChatServerName } from '../../step';
import type { ChatServer } from './chat-server';
import { gemini } from './gemini';
import { deepseek, kimi } from './kimi';
import { ollama, vllm, vllmMistral } from './local-servers';
import { mistral } from './mistral';

/** By name. */
export const chatServers = {
  mistral,
  kimi,
  deepseek,
  gemini,
  ollama,
  vllm,
  'vllm-mistral': vllmMistral,
} as const satisfies Readonly<Record<ChatServerName, ChatServer>>;
