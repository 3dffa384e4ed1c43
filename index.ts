/** Entry of `holdfast`: define tools and agents, make a worker's activities, start runs and follow them. */
export * from './activities/index';
export * from './client/index';
